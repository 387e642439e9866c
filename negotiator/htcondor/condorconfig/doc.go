// Package condorconfig reads HTCondor's own configuration, as its daemons do, by
// asking condor_config_val: macros, includes, the environment (_CONDOR_NAME) and
// the prefixes for one daemon (NEGOTIATOR.NAME) are HTCondor's business, not ours.
//
// [Read] asks once for everything, which takes some 20 ms; a [Config] is what it was
// told, and does not change: read again to reconfigure. Knobs are read by their
// kind, and [Knobs] lists those that the negotiator looks at, with their defaults
// and what they mean. [Config.Apply] puts the BACKFILL_ knobs over our own
// configuration (package config). [Permissions] are the ALLOW_ lists.
//
// Files: condorconfig.go reading; value.go kinds of values; knobs.go the table;
// apply.go; permission.go.
package condorconfig
