package main

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// helpTexts are the help texts that are too long for a field's tag. The tag names its text:
// help:"${run_order}" is that of negotiator run --order.
var helpTexts = cli.Texts{
	"real_token":      "File or folder of tokens (IDTOKENS) that show who we are.",
	"real_observe":    "Plan and publish start times, but match nothing: beside another negotiator.",
	"real_local_name": "Whose settings in HTCondor's configuration count: NAME.KNOB before KNOB.",
	"estimates_all": "How long jobs are taken to run: requested, user, project, combined, selective, tsafrir " +
		"or file:PATH; in simulations also accurate or mix:A.",
	"estimates_backfill": "Another one for how long a waiting job is taken to run; not with policies that give " +
		"guarantees.",
	"estimates_running": "Another one for when running jobs are taken to end; not with policies that give " +
		"guarantees.",
	"estimates_opt":           "Option of the estimators, such as threshold=20; may be repeated.",
	"estimates_history":       "A trace or job ads to learn run times from beforehand.",
	"estimates_estimate_attr": "Job attributes that may hold the run time in seconds, the first counts.",
	"ask_at":                  "Simulated second at which to look; without it, the pool's negotiator is asked.",
	"futures": "In how many futures starts are looked for, to tell the range of each; 1: no ranges. Default: the " +
		"configuration's, 32.",
	"futures_seed":      "Seed of the run times that are drawn for these futures.",
	"command_policies":  "List the policies, linked in and plugins, with their options, and the orders.",
	"command_what_if":   "Say when a job would start, or what another policy or other slots would do.",
	"what_if_policy":    "Another policy: one that is linked in, or the one in charge.",
	"what_if_estimates": "Another estimator of run times: " + strings.Join(whatif.Estimators(), ", ") + ".",
	"what_if_without":   "A slot, or a machine with all its slots, that takes no more jobs; may be repeated.",
	"what_if_with":      "More slots: amounts, how many (count), and the slot that they are like (like).",
	"what_if_drain":     "A slot or a machine on which no job starts for the time --for; may be repeated.",
	"what_if_from":      "When to drain: 18:00, +2h; in a simulation a second. Now by default.",
	"what_if_under":     "The policy in charge, linked in; ibb by default.",
	"check_seed":        "Seed of the first random pool; what shows in pool N shows with --seed N. Default: 0.",
	"check_mtls":        "auto, or off: do not encrypt what is said to the plugin.",
	"check_log_level":   "From which level on the plugin's log is shown: trace,debug,info,warn,error,off.",
	"run_pool": "Slot ads or a description of a pool, as condorsim run takes them, or simulated: the " +
		"built-in four nodes; a real pool is htcondor://HOST:PORT, or htcondor: that of this " +
		"machine's HTCondor.",
	"run_workload":   "Job ads or a trace (.swf, .swf.gz); by default 54 MPI-like jobs.",
	"run_policy":     "Policy's name, plugin's path, or auto, which chooses; ibb by default.",
	"run_policy_opt": "Option of the policy; may be repeated.",
	"run_order": "Order of the queue: fcfs, sjf, ljf, area, widest, narrowest, wfp, xfactor or expr:EXPRESSION; by " +
		"default the policy's, on a real pool fairshare.",
	"run_plugin_dir": "Where to look for backfill-NAME first; may be repeated.",
	"run_in_process": "Link the policy in instead of running it in a process of its own.",
}
