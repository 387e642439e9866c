// Package condorconfig reads HTCondor's own configuration through condor_config_val, so that
// macros, includes, the environment (_CONDOR_NAME) and prefixes for one daemon (NEGOTIATOR.NAME)
// have exactly HTCondor's meaning.
//
// [Read] reads everything at once, which takes some 20 ms. The resulting [Config] does not change:
// read again to reconfigure. Knobs are read by their kind, and [Knobs] lists those that the
// negotiator uses, with their defaults and meanings. [Config.Settings] combines the BACKFILL_ knobs
// with our own configuration (package config). [Permissions] are the ALLOW_ lists.
//
// Files: condorconfig.go reading; value.go kinds of values; knobs.go the table; unheeded.go what has no
// effect; apply.go; permission.go and host.go; ranks.go, matchexprs.go and shutdown.go single knobs.
package condorconfig
