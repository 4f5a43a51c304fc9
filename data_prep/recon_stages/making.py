"""The stages that make what prompts lack, one after the other: capability, rubric, reference, responses."""

from collections.abc import Sequence
from pathlib import Path

from core.client import Client
from data_prep.recon_options import ReconConfig
from data_prep.recon_stages.capability import capability_tasks
from data_prep.recon_stages.prompts import Prompt
from data_prep.recon_stages.records import Parts
from data_prep.recon_stages.reference import reference_tasks
from data_prep.recon_stages.responses import response_tasks
from data_prep.recon_stages.rubric import rubric_tasks
from data_prep.recon_stages.tasks import Rejected, run_stage, stage_rows


def make_parts(
    prompts: Sequence[Prompt], config: ReconConfig, client: Client, folder: Path
) -> tuple[Parts, list[Rejected]]:
    """All parts that were kept or made, and those that could not be, in the order of the stages.

    Raises UserError where the server is gone or requests wait in batch files; what was made is in the folder by then.
    """
    sort = capability_tasks(prompts, config.capabilities, config.writer(0.0))
    chosen, rejected = run_stage("capability", sort, client, folder / "capabilities.jsonl", config.attempts)
    writer = config.writer(config.rubric_temperature, json=True)
    rubrics, failed = run_stage(
        "rubric", rubric_tasks(prompts, writer), client, folder / "rubrics.jsonl", config.attempts
    )
    rejected += failed
    client.finish()
    writer = config.writer(config.reference_temperature)
    references, failed = run_stage(
        "reference", reference_tasks(prompts, rubrics, writer), client, folder / "references.jsonl", config.attempts
    )
    rejected += failed
    client.finish()
    tasks = response_tasks(
        prompts,
        rubrics,
        references,
        stage_rows(folder / "responses.jsonl"),
        config.writer(config.response_temperature),
        config.seed if config.length_control else None,
    )
    scored, failed = run_stage("response", tasks, client, folder / "responses.jsonl", config.attempts)
    client.finish()
    parts = Parts({prompt.id: prompt for prompt in prompts}, chosen, rubrics, references, scored)
    return parts, [*rejected, *failed]
