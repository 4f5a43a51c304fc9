"""What tokens cost: a table of prices by model, each with the date it was read on."""

import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.config import load_yaml
from core.errors import ConfigError


class Price(BaseModel):
    """US dollars per million tokens of prompt (``input``) and answer (``output``), and the share that batch requests save."""

    model_config = ConfigDict(extra="forbid")

    date: datetime.date
    input: float = Field(ge=0)
    output: float = Field(ge=0)
    batch_discount: float = Field(0.0, ge=0, le=1)

    def cost(self, prompt_tokens: int, completion_tokens: int, batch: bool = False) -> float:
        """US dollars for so many tokens."""
        dollars = (self.input * prompt_tokens + self.output * completion_tokens) / 1e6
        return dollars * (1 - self.batch_discount) if batch else dollars


def read_prices(path: str | Path) -> dict[str, Price]:
    """The price table. Raises ConfigError naming the model whose row is wrong."""
    prices = {}
    for model, row in load_yaml(path).items():
        try:
            prices[str(model)] = Price.model_validate(row)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in fault["loc"]) or "row"
            raise ConfigError(f"{path}: {model}: {field}: {fault['msg']}; mend the price") from None
    return prices


def price_line(prices: Path | None, model: str, prompt_tokens: int, completion_tokens: int, batch: bool) -> str:
    """The price of so many tokens as a line of text, or what is lacking to say it."""
    table = read_prices(prices) if prices is not None and prices.exists() else {}
    if model not in table:
        return f"price: none known for {model}; add a row to {prices or 'a price table'}"
    price = table[model]
    dollars = price.cost(prompt_tokens, completion_tokens, batch)
    how = f", batch discount {price.batch_discount:.0%} taken off" if batch and price.batch_discount else ""
    return f"price: about ${dollars:,.2f} for {model} (prices of {price.date}{how}), if every first answer is accepted"
