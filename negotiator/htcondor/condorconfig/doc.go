// Package condorconfig reads HTCondor's own configuration through condor_config_val, so that
// macros, includes, the environment (_CONDOR_NAME) and prefixes for one daemon (NEGOTIATOR.NAME)
// have exactly HTCondor's meaning.
//
// [Read] reads everything at once, which takes some 20 ms. The resulting [Config] does not change:
// read again to reconfigure. Knobs are read by their kind, and [Knobs] lists those that the
// negotiator uses, with their defaults and meanings: those of the table of settings (package
// config), and HTCondor's own ones that are read for something else. [Config.Settings] applies the
// table. [Permissions] are the ALLOW_ lists.
//
// Files: condorconfig.go reading; value.go kinds of values; knobs.go HTCondor's own knobs; apply.go
// the table of settings; stock.go what becomes of the stock negotiator's knobs, by the table in
// stock_knobs.go, and found.go which of these the site has set; unheeded.go warnings of what has no effect;
// lending.go the line that leases need; permission.go and host.go; ranks.go, weights.go,
// matchexprs.go, siteattrs.go and usermaps.go single knobs.
package condorconfig
