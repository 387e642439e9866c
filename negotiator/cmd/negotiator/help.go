package main

import (
	"reflect"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// helpTexts are the help texts that are too long for a field's tag. The tag names its text:
// help:"${futures}" is that of --futures, and help:"${set_order}" what the table of settings says of
// order.
var helpTexts = withSettings(cli.Texts{
	"real_local_name": "Whose settings in HTCondor's configuration count: NAME.KNOB before KNOB.",
	"estimates_opt":   "Option of the estimators, such as threshold=20; may be repeated.",
	"ask_at": "Time of the simulation at which to look: a second of it, a Unix time or a date such as " +
		"2026-03-01T12:00; without it, the pool's negotiator is asked.",
	"ask_name": "The one negotiator to ask, by its name in the pool (condor_status -negotiator).",
	"futures": "In how many futures starts are looked for, to tell the range of each; 1: no ranges. Default: the " +
		"configuration's, 32.",
	"futures_seed":           "Seed of the run times that are drawn for these futures.",
	"command_policies":       "List the policies, linked in and plugins, with their options, and the orders.",
	"command_what_if":        "Say when a job would start, or what another policy or other slots would do.",
	"what_if_policy":         "Another policy: one that is linked in, or the one in charge.",
	"what_if_estimates":      "Another estimator of run times: " + strings.Join(whatif.Estimators(), ", ") + ".",
	"what_if_without":        "A slot, or a machine with all its slots, that takes no more jobs; may be repeated.",
	"what_if_with":           "More slots: amounts, how many (count), and the slot that they are like (like).",
	"what_if_drain":          "A slot or a machine on which no job starts for the time --for; may be repeated.",
	"what_if_from":           "When to drain: 18:00, +2h, a date, a Unix time; in a simulation also a second of it. Now by default.",
	"what_if_under":          "The policy in charge, linked in; ibb by default.",
	"command_drain":          "Have slots be empty by a time and filled until then, cancel that, or list them.",
	"drain_by":               "When they are to be empty: 18:00, 2026-05-31T18:00+02:00, 4h from now, or now; see below.",
	"drain_until":            "When they take jobs again; without it, when the drain is cancelled.",
	"drain_at":               "Time of the simulation at which it is asked for; without it, the pool's negotiator is asked.",
	"command_setup":          "Put this negotiator to work beside HTCondor's own or in its place, or go back.",
	"command_observe_report": "Tell what a negotiator that observes would have done otherwise.",
	"report_state": "The folder of the observer's state; without it, that of this machine's HTCondor (BACKFILL_STATE, " +
		"with -observe behind it).",
	"setup_patience":  "How long it may take to come up, before all is put back as it was. Default: 2m.",
	"check_seed":      "Seed of the first random pool; what shows in pool N shows with --seed N. Default: 0.",
	"check_mtls":      "auto, or off: do not encrypt what is said to the plugin.",
	"check_log_level": "From which level on the plugin's log is shown: trace,debug,info,warn,error,off.",
	"run_policy_opt":  "Option of the policy; may be repeated.",
	"run_dump_refused": "On a simulated pool: write refused and failed rounds to this folder, the first of each kind and ten " +
		"in all, as instances that play the round alone; the log names each with the command that runs it.",
	"run_plugin_reads": "A file or folder that a plugin may read besides its own; may be repeated.",
	"run_plugin_dir":   "Where to look for backfill-NAME first; may be repeated.",

	"command_import_accounting": "Take usage and priorities over from HTCondor's own negotiator.",
	"command_export_accounting": "Give usage and priorities back to HTCondor's own negotiator.",
	"accounting_log": "The file of HTCondor's negotiator; ACCOUNTANT_DATABASE_FILE by default, or else " +
		"Accountantnew.log in SPOOL.",
	"setup_move_accounting": "Have usage and priorities move along, by import-accounting or export-accounting, while no " +
		"negotiator runs. Those that came along by --live also go back by themselves.",
	"setup_replace": "Have what moves along replace what was used and set meanwhile on the other side.",
	"setup_restart": "Start anew what is set up, by this program: after an update.",
	"accounting_wait": "How long to wait for a negotiator that is about to end; condor_off does not wait for it. Default: " +
		"15s.",
	"accounting_state": "The folder of our state; BACKFILL_STATE by default.",
	"accounting_replace": "Replace what is there also if somebody has used more there, or has settings only there, or if not " +
		"all can be taken over.",
})

// withSettings adds the help of flags that set what a key of the configuration file sets.
func withSettings(texts cli.Texts) cli.Texts {
	for _, s := range config.Settings() {
		text := s.Doc
		if s.Key != "" && !reflect.ValueOf(s.Default).IsZero() {
			text += " Default: " + config.KnobText(s.Default) + "."
		}
		texts["set_"+s.Key] = text
	}
	return texts
}
