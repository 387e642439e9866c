package condorconfig

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// Knobs returns the knobs that the negotiator reads: those of the table of settings, then the others of
// HTCondor.
func Knobs() []config.Setting { return knobs() }

var knobs = sync.OnceValue(func() (all []config.Setting) {
	for _, s := range config.Settings() {
		if s.Knob != "" {
			all = append(all, s)
		}
	}
	return append(all, stock...)
})

// stock are HTCondor's knobs that are read for something else than a [config.Config].
var stock = []config.Setting{
	{
		Knob: "COLLECTOR_HOST", Kind: config.List,
		Doc: "The pool's collectors; the port 0 is that in COLLECTOR_ADDRESS_FILE.",
	},
	{
		Knob: "COLLECTOR_HOST_FOR_NEGOTIATOR", Kind: config.Text, KnobDefault: "$(FULL_HOSTNAME)",
		Doc: "The host whose collectors are asked before the others.",
	},
	{
		Knob: "COLLECTOR_ADDRESS_FILE", Kind: config.Text,
		Doc: "Where the collector of this machine writes its address.",
	},
	{
		Knob: "NEGOTIATOR_NAME", Kind: config.Text, Restart: true,
		Doc: "The negotiator's name in the pool; the host's where nothing is said.",
	},
	{Knob: "NEGOTIATOR_LOG", Kind: config.Text, KnobDefault: "$(LOG)/NegotiatorLog", Doc: "The log file."},
	{
		Knob: "MAX_NEGOTIATOR_LOG", Kind: config.LogSize, KnobDefault: "10 Mb",
		Doc: "The log's size, or the time, at which a new one is begun; 0: never.",
	},
	{
		Knob: "MAX_NUM_NEGOTIATOR_LOG", Kind: config.Whole, KnobDefault: "1",
		Doc: "How many old logs are kept; one is called .old, of several each bears the time.",
	},
	{
		Knob: "NEGOTIATOR_MATCH_LOG", Kind: config.Text,
		Doc: "A file with a line for each match and each reason why a job waits.",
	},
	{
		Knob: "MAX_NEGOTIATOR_MATCH_LOG", Kind: config.LogSize, KnobDefault: "10 Mb",
		Doc: "Its size, or the time, at which a new one is begun; 0: never.",
	},
	{
		Knob: "MAX_NUM_NEGOTIATOR_MATCH_LOG", Kind: config.Whole, KnobDefault: "1",
		Doc: "How many old ones are kept.",
	},
	{
		Knob: "TRUNC_NEGOTIATOR_LOG_ON_OPEN", Kind: config.Bool, KnobDefault: "false",
		Doc: "A start drops what was in the log.",
	},
	{
		Knob: "TRUNC_NEGOTIATOR_MATCH_LOG_ON_OPEN", Kind: config.Bool, KnobDefault: "false",
		Doc: "A start drops what was in the match log.",
	},
	{
		Knob: "NEGOTIATOR_DEBUG", Kind: config.List,
		Doc: "D_FULLDEBUG logs debug lines as well, D_ALL or a level of :2 traces.",
	},
	{
		Knob: "NEGOTIATOR_INTERVAL", Kind: config.Seconds, KnobDefault: "60",
		Doc: "Seconds between cycles if nothing happens.",
	},
	{
		Knob: cycleDelay, Kind: config.Seconds, KnobDefault: "20",
		Doc: "Seconds between the end of a cycle and the next; counts where a file sets it, and not BACKFILL_CYCLE_DELAY.",
	},
	{
		Knob: depthFirst, Kind: config.Bool, KnobDefault: "false",
		Doc: "Fill a slot before the next, as every BACKFILL_PLACEMENT but spread does.",
	},
	{
		Knob: "NEGOTIATOR_READ_CONFIG_BEFORE_CYCLE", Kind: config.Bool, KnobDefault: "false",
		Doc: "Read the configuration before each cycle, and take up what has changed as condor_reconfig does.",
	},
	{
		Knob: "NEGOTIATOR_ADDRESS_FILE", Kind: config.Text, KnobDefault: "$(LOG)/.negotiator_address", Restart: true,
		Doc: "Where the command port's address is written.",
	},
	{
		Knob: mapNames, Kind: config.List,
		Doc: "The maps that the function userMap knows in START, Requirements and ranks of ads; a " +
			"CLASSAD_USER_MAPFILE_<name> or CLASSAD_USER_MAPDATA_<name> says what is in each.",
	},
	{Knob: "NEGOTIATOR_EXPRS", Kind: config.List, Doc: "The old name of NEGOTIATOR_ATTRS."},
	{
		Knob: "GROUP_DYNAMIC_MACH_CONSTRAINT", Kind: config.Expression,
		Doc: "The old name of NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT.",
	},
	{Knob: "SPOOL", Kind: config.Text, Doc: "HTCondor's folder of state."},
	{Knob: "LOG", Kind: config.Text, Doc: "HTCondor's folder of logs."},
	{Knob: "FULL_HOSTNAME", Kind: config.Text, Restart: true, Doc: "This machine's name."},
	{
		Knob: "NETWORK_INTERFACE", Kind: config.Text, Restart: true,
		Doc: "The address, or a pattern of it, on which the command port listens.",
	},
	{
		Knob: "BIND_ALL_INTERFACES", Kind: config.Bool, KnobDefault: "true", Restart: true,
		Doc: "Listen on all addresses, and tell that of NETWORK_INTERFACE.",
	},
	{
		Knob: "IP_ADDRESS", Kind: config.Text, KnobDefault: "127.0.0.1", Restart: true,
		Doc: "This machine's address, as HTCondor found it.",
	},
	{
		Knob: "PRIVATE_NETWORK_NAME", Kind: config.Text,
		Doc: "The private network that this machine is in: daemons of the same one are called directly, others through " +
			"their brokers (CCB), if they have any.",
	},
	{Knob: "IN_LOWPORT", Kind: config.Text, Restart: true, Doc: "The first port that the command port may have."},
	{Knob: "IN_HIGHPORT", Kind: config.Text, Restart: true, Doc: "The last of them."},
	{Knob: "LOWPORT", Kind: config.Text, Restart: true, Doc: "The same as IN_LOWPORT, where that is not set."},
	{Knob: "HIGHPORT", Kind: config.Text, Restart: true, Doc: "The same as IN_HIGHPORT, where that is not set."},
	{Knob: "UID_DOMAIN", Kind: config.Text, Doc: "The domain of this machine's users."},
	{Knob: "TRUST_DOMAIN", Kind: config.Text, KnobDefault: "$(UID_DOMAIN)", Doc: "Who signs the pool's tokens."},
	{
		Knob: "CONDOR_IDS", Kind: config.Text, Restart: true,
		Doc: "UID.GID of the user that the negotiator becomes when it is started as root; else that of the " +
			"user condor.",
	},
	{
		Knob: "SEC_CLIENT_AUTHENTICATION_METHODS", Kind: config.List, KnobDefault: "$(SEC_DEFAULT_AUTHENTICATION_METHODS)",
		Doc: "How we show who we are; CLAIMTOBE, FS and IDTOKENS are known here.",
	},
	{
		Knob: "SEC_DEFAULT_AUTHENTICATION_METHODS", Kind: config.List, KnobDefault: "FS, IDTOKENS",
		Doc: "The same, where nothing else is said.",
	},
	{
		Knob: "SEC_CLIENT_AUTHENTICATION", Kind: config.Text, KnobDefault: "$(SEC_DEFAULT_AUTHENTICATION)",
		Doc: "NEVER, OPTIONAL, PREFERRED or REQUIRED.",
	},
	{
		Knob: "SEC_DEFAULT_AUTHENTICATION", Kind: config.Text, KnobDefault: "PREFERRED",
		Doc: "The same, where nothing else is said.",
	},
	{
		Knob: "SEC_CLIENT_ENCRYPTION", Kind: config.Text, KnobDefault: "$(SEC_DEFAULT_ENCRYPTION)",
		Doc: "NEVER, OPTIONAL, PREFERRED or REQUIRED.",
	},
	{
		Knob: "SEC_DEFAULT_ENCRYPTION", Kind: config.Text, KnobDefault: "PREFERRED",
		Doc: "The same, where nothing else is said.",
	},
	{
		Knob: "SEC_CLIENT_INTEGRITY", Kind: config.Text, KnobDefault: "$(SEC_DEFAULT_INTEGRITY)",
		Doc: "NEVER, OPTIONAL, PREFERRED or REQUIRED.",
	},
	{
		Knob: "SEC_DEFAULT_INTEGRITY", Kind: config.Text, KnobDefault: "PREFERRED",
		Doc: "The same, where nothing else is said.",
	},
	{
		Knob: "SEC_TOKEN_SYSTEM_DIRECTORY", Kind: config.Text, KnobDefault: "/etc/condor/tokens.d",
		Doc: "Our tokens.",
	},
	{
		Knob: "SEC_TOKEN_DIRECTORY", Kind: config.Text,
		Doc: "Our tokens, where the negotiator stands alone and is not root.",
	},
	{
		Knob: "SEC_PASSWORD_DIRECTORY", Kind: config.Text, KnobDefault: "/etc/condor/passwords.d",
		Doc: "Signing keys, for the tokens of those who call us.",
	},
	{
		Knob: "SEC_TOKEN_POOL_SIGNING_KEY_FILE", Kind: config.Text, KnobDefault: "$(SEC_PASSWORD_FILE)",
		Doc: "The pool's own signing key.",
	},
	{
		Knob: "SEC_TOKEN_REVOCATION_EXPR", Kind: config.Expression,
		Doc: "Of the claims of tokens that are no longer accepted, it is true. A token of which it is " +
			"neither true nor false is refused as well.",
	},
	{
		Knob: "SEC_TOKEN_MAX_AGE", Kind: config.Text, KnobDefault: "-1",
		Doc: "How many seconds ago tokens of those who call us may have been issued; -1: any.",
	},
	{
		Knob: "ALLOW_READ", Kind: config.List,
		Doc: "Who may ask: condor_userprio, explain. Patterns USER@DOMAIN/HOST with *, HOST an address, a " +
			"network or a name, which is looked up at condor_reconfig.",
	},
	{Knob: "ALLOW_WRITE", Kind: config.List, Doc: "Who may have cycles begun."},
	{Knob: "ALLOW_DAEMON", Kind: config.List, Doc: "Which daemons may have cycles begun."},
	{Knob: "ALLOW_NEGOTIATOR", Kind: config.List, Doc: "Implies that they may ask."},
	{Knob: "ALLOW_ADMINISTRATOR", Kind: config.List, Doc: "Who may change priorities."},
}

// AtStart returns HTCondor's knobs whose changes take effect only after a restart.
func AtStart() (names []string) {
	for _, k := range stock {
		if k.Restart {
			names = append(names, k.Knob)
		}
	}
	return names
}

// knobNamed returns the knob of that name, ignoring case; false if the table has none.
func knobNamed(name string) (config.Setting, bool) {
	for _, k := range knobs() {
		if strings.EqualFold(k.Knob, name) {
			return k, true
		}
	}
	return config.Setting{}, false
}

// Help returns the text about the negotiator's own knobs for a command's help.
func Help() string {
	var text strings.Builder
	text.WriteString("Knobs in HTCondor's configuration, and what they are where nothing is said:\n\n")
	for _, k := range knobs() {
		if strings.HasPrefix(k.Knob, prefix) {
			what := cmp.Or(k.KnobDefault, string(k.Kind))
			switch k.Kind {
			case config.Seconds:
				what = k.KnobDefault + " seconds"
			case config.Pairs:
				what = `NAME=VALUE NAME="A VALUE"`
			default:
			}
			fmt.Fprintf(&text, "  %-30s %s (%s)\n", k.Knob, k.Doc, what)
		}
	}
	return text.String()
}
