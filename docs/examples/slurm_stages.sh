#!/bin/bash
# Deduplication in stages by Slurm: slurm_stages.sh INPUT WORK OUTPUT SHARDS TASKS [OPTION...]
# Each stage is an array of jobs, which begins when that of the stage before has ended well. After a failure, run it again:
# tasks that are done are not repeated.
set -euo pipefail
input=$1 work=$2 output=$3 shards=$4 tasks=$5
memory=${MEMORY:-4G}

[ -e "$work/plan.json" ] ||
  lshfast stage plan "$input" --work "$work" --output "$output" --shards "$shards" --tasks "$tasks" --memory "$memory" "${@:6}"

submit() { # STAGE TASKS [DEPENDENCY]: print the number of the job
  sbatch --parsable --job-name="$1" --array="0-$(($2 - 1))" --mem="$memory" ${3:+--dependency="$3"} \
    --wrap="lshfast stage $1 '$work' --task \$SLURM_ARRAY_TASK_ID"
}

job=$(submit sketch "$shards")
job=$(submit band "$shards" "aftercorr:$job")
job=$(submit join "$tasks" "afterok:$job")
job=$(submit group 1 "afterok:$job")
job=$(submit collect "$shards" "afterok:$job")
job=$(submit verify "$tasks" "afterok:$job")
job=$(submit apply "$shards" "afterok:$job")
echo "$job"
