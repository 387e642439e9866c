package main

import (
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// helpTexts are the help texts that are too long for a field's tag. The tag refers to them by name:
// help:"${run_workload}" is the text of condorsim run --workload.
var helpTexts = cli.Texts{
	"estimates_all":           "Run times to plan with: requested (the default), combined and others, see below.",
	"estimates_backfill":      "Others for how long a waiting job is taken to run where it is placed.",
	"estimates_running":       "Others for when running jobs are taken to end.",
	"estimates_opt":           "Option of the estimates; may be repeated.",
	"estimates_history":       "Trace or job ads to learn from beforehand.",
	"estimates_history_share": "Learn from the first F (0 to 1) of the jobs, and do not run these.",
	"compare_base":            "What the others are compared with: a table of jobs (run --jobs-out), a record, or a folder of results.",
	"compare_others":          "What is compared with it, the same.",
	"compare_cpus":            "Cpus of the pool: if they are known, utilisation is compared as well.",
	"compare_any_submit":      "Jobs of the same name are the same, even if they were submitted at different times.",
	"compare_trace_start":     "When second 0 of the tables was, as a Unix time, for the hours of arrival.",
	"compare_top":             "Print so many rows of each table at most.",
	"compare_html":            "Write a page that needs no network and can be printed, with curves and all jobs by their waits.",
	"report_baseline":         "Scheduler that the others are compared with; by default what the sweep says.",
	"report_charts":           "Also write each chart to DIR/charts, as svg, png or both; none: neither.",
	"run_file":                "What to run: " + formats.Holdings() + ", or - for standard input.",
	"run_workload": "The same as FILE: a trace, or what condor_history -long prints; plain, .gz, .xz or .zst; or the " +
		"name of a trace that is built in, such as lublin-128. condorsim workload formats describes what is read.",
	"run_instance": "The same for a small JSON instance, whatever its text begins with.",
	"run_load":     "Scale the load: times between submissions are divided by F.",
	"trace_estimate_attr": "Where job ads have the estimated run time: an attribute or an expression, in seconds unless a unit " +
		"follows (s, min, h, d), such as MaxWallTimeMins:min or 'MaxWallTimeMins*60'; several, separated by commas, are " +
		"tried in turn.",
	"trace_dependencies": "Jobs with a preceding job (fields 17 and 18 of SWF) are submitted after its end and the think " +
		"time (honour), or when they were (ignore).",
	"trace_zone": "Time zone of the dates of an accounting of another system, such as Europe/Paris; by default UTC. Times " +
		"that count from 1970 have none.",
	"run_cpus": "Processors of the machine; by default what the trace's header says, or the most that job ads " +
		"had at one time.",
	"run_memory": "Memory of the machine; by default MachineMemory of the header, else memory is no resource.",
	"run_memory_share": "Memory of the machine, instead, as a share of what its processors would need if jobs such as these kept " +
		"all of them busy, such as 0.75.",
	"run_memory_from": "Jobs whose memory is not known need as much for each processor as a job of this trace that is about " +
		"as wide, drawn by --seed and the job's number. It may be the trace that is run. The machine must have memory.",
	"run_pool": "Pool to run on instead of one machine: slot ads, nodes as Slurm's scontrol or sinfo or PBS's pbsnodes " +
		"prints them, a description in YAML, or a built-in name such as four-nodes. A job of p processors is then p " +
		"chunks, unless the pool says otherwise. condorsim keys pool shows what a description may have.",
	"run_slot_end": "Attributes of the pool's slots, separated by commas, that may say when a slot ends, in seconds since " +
		"1970; the first that is such a number counts. By default GLIDEIN_ToDie; none: the scheduler heeds no attribute.",
	"run_placement":  profile.RuleHelp,
	"run_policy_opt": "Option of the policy; may be repeated.",
	"run_order": "Order of the queue: fcfs, sjf, ljf, area, widest, narrowest, wfp, wfp-wide, xfactor, fairshare or expr:EXPRESSION; by " +
		"default the policy's, which is fcfs unless negotiator policies names another.",
	"run_jitter_keys": "Multiply each job's key in the order by a factor from 1 − X to 1 + X (X such as 0.02), " +
		"drawn once for the job from the seed: one run is noise, so compare means of several. fcfs and fairshare have no " +
		"keys for that and stay as they are.",
	"sweep_jitter_keys": "Multiply each job's key in the order by a factor from 1 − X to 1 + X (X such as 0.02), drawn " +
		"anew for each seed; not under fcfs and fairshare. It overrides a sweep's jitter_keys.",
	"sweep_on": "Where the simulations run: here, or as the jobs of one cluster of an HTCondor pool (htcondor).",
	"sweep_submit": "With --on htcondor: a further line of the submit description, such as 'accounting_group = physics', " +
		"'+ProjectName = \"x\"' or 'requirements = HasFastDisk'; may be repeated.",
	"sweep_seeds": "Run all with the seeds 1 to N, and average; four or more give intervals. It overrides a sweep's " +
		"seeds.",
	"run_priority_halflife": "Under --order fairshare: how long it takes until what a user has used counts half, as " +
		"HTCondor's PRIORITY_HALFLIFE; seconds, or such as 12h; a day by default.",
	"run_priority_factor": "Under --order fairshare: a user's priority factor, as condor_userprio sets it; 1000 where none " +
		"is given, and twice that stands for half the share. May be repeated.",
	"run_plan_depth": "Most waiting jobs that " + policies.Guaranteeing("and") + " reserve for; the others start " +
		"beside them. No limit by default.",
	"run_plan_horizon": "Seconds for which the jobs that these promise a start could keep the whole pool busy at " +
		"most, and a user's jobs half of that; one job of each user is promised a start all the same. No limit by default.",
	"run_reorder": "Under " + policies.Guaranteeing("and") + ": promise starts in the queue's order, not in order of " +
		"jobs.",
	"run_plugin_reads": "A file or folder that a plugin may read besides its own; may be repeated.",
	"run_plugin_dir":   "Where to look for backfill-NAME first; may be repeated.",
	"run_deadline": "How long a plugin may take to decide a round, 10s by default; 0: as long as it likes, as under a " +
		"debugger.",
	"replay_with": "Policy that is to decide instead: a plugin's path or a policy's name, such as the next version of the " +
		"one in the record.",
	"replay_go_on": "Go on behind a round that differs, with what was decided then, and count all that differ.",
	"replay_dump_dir": "Where the state of the first round that differs is written as an instance; the working folder by " +
		"default.",
	"run_record": "Write down what the pool told and what was decided, for condorsim replay; see negotiator/record/README.md.",
	"run_dump_refused": "Write refused and failed rounds to this folder, the first of each kind and ten in all, as " +
		"instances that play the round alone; the log names each with the command that runs it.",
	"run_fst": "Find fair start times, strict, relaxed or both (strict,relaxed): what each job's start would be" +
		" if nobody came after it; not under --order fairshare.",
	"run_eta": "Tell N of the jobs that wait (1000 by default) when they will start, from copies of the simulation " +
		"that are played ahead, and say how true it was: the errors, and how many starts came within 1 and 10 minutes.",
	"run_bound":                "Run time that a job counts as having at least in bounded slowdowns; 10 by default.",
	"run_count_events":         "Count the profile events that textbook versions of conservative, pc or dc would scan.",
	"run_compare_with_history": "Compare with what really happened to the same jobs, by the starts that their file records.",
	"run_own_error": "Of a record: simulate its own policy with its settings, too, and say how far the starts are from " +
		"those of the record: the simulator's own error.",
	"run_jobs_out": "Write a row for each job; the end of the name says how: .csv, .csv.gz, .csv.zst or " +
		".parquet; .batsim.csv, .batsim.csv.gz and .batsim.csv.zst have the columns of Batsim.",
	"run_predictions": "With --jobs-out: add columns with the run times that each job was planned with.",
	"run_raw_names": "With --jobs-out: write names into CSV as they are, also those that a spreadsheet would take for " +
		"formulas or, as 7.10, for other numbers; otherwise these have an apostrophe before them.",
	"run_gantt": "Write a Gantt chart of the jobs, an HTML page that stands alone.",
	"run_timing": "Say how long it took, reading included, and how long the policy's decisions took (not with " +
		"--fst and --eta).",
	"run_dump_dir": "Where a case is saved that shows an error of the simulator itself; the working folder by " +
		"default.",
	"run_log_level": "What is logged, to standard error.",
	"trace_clean": "Which jobs that never really ran are dropped: papers, partial, cancelled, none, or strong (those " +
		"with run time 0 or no requested time, whatever their status).",
	"trace_procs_field": "Which field holds a job's processors: allocated or requested.",
	"trace_overrun":     "Jobs that ran longer than estimated: raise the estimate, or kill.",
	"machine_cpus":      "Processors of the machine; by default what the trace's header says.",
	"info_pool":         "Pool that the jobs ran on: slot ads, a description in YAML, or a built-in name.",
	"machine_gpus":      "GPUs of the machine; by default MachineGPUs of the header, else GPUs are no resource.",
	"machine_memory":    "Memory of the machine; by default MachineMemory of the header, else memory is no resource.",
	"model_from": "Leave out jobs submitted before this time: a second of the trace, a Unix time, or a date such as " +
		"2026-03-01 or 2026-03-01T12:00 (see condorsim workload scale --help).",
	"model_estimate_model": "Estimates: given, accurate, f:F (from 1 to F+1 times the run time), tsafrir (popular " +
		"round values), tsafrir:LONGEST, or liars:SHARE:RATIO (a share of the users say their run times over RATIO).",
	"model_scale_estimates": "Multiply the run times that users stated by F, such as 0.5: unknown ones stay unknown, and none " +
		"gets shorter than the job's run time, unless --overrun kill cuts the run there.",
	"run_with": "More slots: amounts, how many, and the slot that they are like (the pool's first unless it is named), such " +
		"as cpus=64,memory=256GiB,count=4,like=node7. They never fail. May be repeated.",
	"run_without":      "Slots or machines that the pool does not have: slot1@node7, node7, 'node*'. May be repeated.",
	"study_file":       "What was run: " + formats.Holdings() + ".",
	"study_policies":   "Policies to compare: names, or paths of plugins.",
	"study_policy_opt": "Option of those of the policies that have it; may be repeated.",
	"study_out":        "Folder of the results, as condorsim sweep makes it; by default they are not kept.",
	"study_html":       "Write a page that needs no network and can be printed; study.html unless it is named.",
	"estimate_trust": "Which stated run times count: enforced, those at which jobs are ended; record, the others as " +
		"far as the user's last jobs bear them out; or all. Only jobs of liars (--estimate-model), and job ads, run " +
		"beyond what they state.",
	"model_memory_model": "Memory: used or requested (the field to read first), given (as used), per-cpu:MIB, or " +
		"lognormal:MEDIAN:SIGMA (MiB per processor). The machine must have memory, see --memory.",
	"model_seed": "Seed of what is drawn at random: models, failures of slots, jittered keys.",
	"out_out": "Where to write the trace: standard output by default. The end of the name says the format, " +
		".json (an instance), .batsim.json or SWF, and the compression, .gz, .xz or .zst.",
	"drop": "Jobs are written without resources (such as disk, or GPUs of a machine without any), requirements (also ranks, " +
		"limits and earliest starts), or both, where the format has no place for them; otherwise that is an error.",
	"merge_load":              "Scale the load of the merged trace: times between submissions are divided by F.",
	"generate_estimate_model": "Estimates: accurate (the default), f:F, tsafrir or tsafrir:LONGEST.",
	"generate_memory_model": "Memory: per-cpu:MIB or lognormal:MEDIAN:SIGMA (MiB per processor); by " +
		"default none is needed.",
	"lublin_kind": "Which jobs: all (one sort that fits all), batch, interactive or both.",
	"lublin_target_load": "Load that the jobs are to offer; by default what the model gives. It is met by scaling " +
		"time, and the cycle of the day with it.",
	"simple_shape": "Shape of the Weibull distribution of gaps between submissions: 1, the default, is a Poisson " +
		"process, less comes in bursts.",
	"simple_run_median": "Median of the run times, which are log-normal; 1800 by default.",
	"simple_zipf":       "Users have jobs by Zipf's law with this exponent, 1.2 by default.",
	"trace": "What to read: " + formats.Holdings() + ", plain, .gz, .xz or .zst; " +
		"- for standard input; or the name of a trace that is built in.",
}
