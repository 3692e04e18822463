#!/bin/bash
# Queues the preparation of some systems, a training for each, and their scores after these:
#   recipes/slurm/submit.sh [sbatch's options for the trainings] <corpus>-<vocabulary>-<model>-<size>-<seed> ...
set -euo pipefail
options=() systems=() trainings=
for word; do
    if [[ $word == --* ]]; then options+=("$word"); else systems+=("$word"); fi
done
: "${systems[0]:?name a system that build of params.yaml chooses}"
mkdir -p work/slurm  # of the logs: sbatch makes no folder
prepare=$(sbatch --parsable recipes/slurm/prepare.sbatch "${systems[@]}")
for system in "${systems[@]}"; do
    training=$(sbatch --parsable --dependency="afterok:${prepare%;*}" "${options[@]}" recipes/slurm/train.sbatch "$system")
    trainings+=:${training%;*}
done
sbatch --dependency="afterok$trainings" recipes/slurm/finish.sbatch
