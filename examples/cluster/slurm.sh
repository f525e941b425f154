#!/bin/bash
# Answers on all nodes of a Slurm job, with a Ray cluster that lives as long as the job: sbatch slurm.sh
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
#SBATCH --requeue
set -euo pipefail
export RAY_USAGE_STATS_ENABLED=0 HF_HUB_OFFLINE=1 # the nodes have no network
export RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT=600 # seconds until all nodes have joined
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
# the head alone runs the command and writes the store; a requeued job goes on where it stopped
answered=$(mktemp) # symmetric-run ends with 0 where Ray did not start, so the command marks its own end
trap 'rm -f "$answered"' EXIT
srun ray symmetric-run --address "$head:${RAY_PORT:-6379}" --min-nodes "$SLURM_NNODES" -- bash -c \
    'eyechart answer -k "$1" --eye-data="$2" --eye-model="$3" --eye-store="$4" --eye-ray=auto && echo yes > "$5"' \
    answer "${CASES:-imagenet/}" "$DATA" "$MODEL" "$STORE" "$answered"
test -s "$answered" || { echo "Ray did not run the command; its messages are above." >&2; exit 1; }
