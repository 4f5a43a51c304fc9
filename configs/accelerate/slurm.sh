#!/usr/bin/env bash
# Train on the nodes of a SLURM job; what follows the script's name goes to train.sft:
#   sbatch --nodes 2 configs/accelerate/slurm.sh --config configs/train/hercule-llama-3.1-8b.yaml --language hi
# Ten minutes before its time is out the run gets SIGUSR1, saves, and goes on when the job is queued again.
#SBATCH --job-name=judge
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --time=24:00:00
#SBATCH --signal=USR1@600
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail

# ACCELERATE_CONFIG, GPUS_PER_NODE and MAIN_PROCESS_PORT may be set in the environment.
gpus=${GPUS_PER_NODE:-${SLURM_GPUS_ON_NODE:-8}}
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export ACCELERATE_CONFIG=${ACCELERATE_CONFIG:-configs/accelerate/multi_node.yaml}
export NUM_PROCESSES=$((SLURM_NNODES * gpus)) MAIN_PROCESS_IP=$first
export MAIN_PROCESS_PORT=${MAIN_PROCESS_PORT:-$((20000 + SLURM_JOB_ID % 10000))}

# The launcher ignores SIGUSR1 and its processes save: after SIGTERM it would leave them 30 seconds, too few for 8B.
# The single quotes leave SLURM_NODEID to each node.
srun bash -c 'trap "" USR1; exec accelerate launch --config_file "$ACCELERATE_CONFIG" --num_machines "$SLURM_NNODES" \
  --num_processes "$NUM_PROCESSES" --machine_rank "$SLURM_NODEID" --main_process_ip "$MAIN_PROCESS_IP" \
  --main_process_port "$MAIN_PROCESS_PORT" -m train.sft --if_exists resume "$@"' train.sft "$@"
