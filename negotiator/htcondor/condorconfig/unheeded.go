package condorconfig

import (
	"regexp"
	"slices"
	"strings"
)

// Warnings returns what an administrator may have expected to work and does not: attributes of the site
// that are no expressions, knobs of ours that do not exist, HTCondor's knobs that are set and not heeded,
// expressions of matches that are listed and not set, job ranks that placement ignores, another
// negotiator's slots without ours, and lines of maps that cannot be read.
func (c *Config) Warnings() []string {
	_, attributes := c.siteAttributes()
	return slices.Concat(attributes, c.Unknown(), c.Unheeded(), c.withoutEffect(), c.unsetMatchExprs(), c.ignoredRanks(),
		c.halfDivided(), c.userMapWarnings())
}

// halfDivided returns a warning if the slots of another negotiator are given and ours are not.
func (c *Config) halfDivided() []string {
	const other, own = "BACKFILL_OTHER_SLOT_CONSTRAINT", "NEGOTIATOR_SLOT_CONSTRAINT"
	if c.Text(other) == "" || c.Text(own) != "" {
		return nil
	}
	return []string{other + " is set and " + own + " is not: this negotiator takes all slots, so it steps back"}
}

// Unheeded returns a warning for each of HTCondor's knobs about security that is set, that HTCondor's
// own negotiator would heed, and that has no effect here. condor_config_val prints all defaults as
// well, which are not named.
func (c *Config) Unheeded() (warnings []string) {
	for name := range c.settings {
		for _, own := range []string{c.local + ".", subsystem + "."} {
			name = strings.TrimPrefix(name, own)
		}
		value, set := c.Lookup(name)
		if !set || !aboutSecurity.MatchString(name) || heeded(name) || ofOthers.MatchString(name) ||
			slices.Contains(strings.Split(securityDefaults[name], "|"), strings.ToLower(value)) ||
			cipherKnown(name, value) {
			continue
		}
		warnings = append(warnings, name+" is set, and not heeded here")
	}
	slices.Sort(warnings)
	return slices.Compact(warnings)
}

// heeded reports whether a knob about security has an effect here.
func heeded(name string) bool {
	_, known := knobNamed(name)
	return known || lists.MatchString(name) || levelled.MatchString(name) ||
		slices.Contains([]string{"SEC_PASSWORD_FILE", "SEC_TOKEN_BLACKLIST_EXPR", "LEGACY_ALLOW_SEMANTICS"}, name)
}

// cipherKnown reports whether the knob names ciphers and AES, the only one here, is among them.
func cipherKnown(name, value string) bool {
	return strings.HasSuffix(name, "_CRYPTO_METHODS") && strings.Contains(strings.ToUpper(value), "AES")
}

var (
	// aboutSecurity are HTCondor's knobs about who may do what, and how that is found out.
	aboutSecurity = regexp.MustCompile(`^(SEC|(HOST)?ALLOW|(HOST)?DENY)_|^(CERTIFICATE_MAPFILE|FS_REMOTE_DIR|FS_LOCAL_DIR|` +
		`LEGACY_ALLOW_SEMANTICS|USE_POOL_USERNAME_EQUIVALENT|UNAUTHENTICATED_USER)`)
	// lists and levelled are the knobs that [Config.ByLevel] reads.
	lists = regexp.MustCompile(`^(ALLOW|DENY)_(READ|WRITE|DAEMON|NEGOTIATOR|ADMINISTRATOR|ADVERTISE_SCHEDD|DEFAULT)` +
		`(_NEGOTIATOR)?$`)
	levelled = regexp.MustCompile(`^SEC_(READ|WRITE|DAEMON|NEGOTIATOR|ADMINISTRATOR|ADVERTISE_SCHEDD|ADVERTISE_STARTD|` +
		`DEFAULT)_(AUTHENTICATION|ENCRYPTION|INTEGRITY|AUTHENTICATION_METHODS)(_NEGOTIATOR)?$`)
	// ofOthers are knobs about other daemons, tools, or commands that a negotiator does not have.
	ofOthers = regexp.MustCompile(`_(COLLECTOR|SCHEDD|STARTD|MASTER|SHADOW|STARTER|CREDD|KBDD|GRIDMANAGER|TOOL|SUBMIT|` +
		`JOB_ROUTER|CONFIG|SOAP|OWNER|ADVERTISE_\w+)(_|$)|^[^.]*\.|^ALLOW_(ADMIN_COMMANDS|SUBMIT_|TRANSFER_|COMMON_)|` +
		`^SEC_(C_GAHP|CREDENTIAL|SCITOKENS|ENABLE|IMPERSONATION|ISSUED|INVALIDATE|SYSTEM_KNOWN_HOSTS|PASSWORD_DOMAIN|` +
		`DEBUG_PRINT_KEYS|SESSION_DURATION_SLOP|TOKEN_(AP_|FETCH_|ISSUER_|REQUEST_))`)
)

// securityDefaults are the defaults of HTCondor 23.9 and 25.13 among those knobs that are not empty.
var securityDefaults = map[string]string{
	"ALLOW_CLIENT": "*", "SEC_DEFAULT_AUTHENTICATION_TIMEOUT": "20", "SEC_TCP_SESSION_TIMEOUT": "20",
	"SEC_USE_FAMILY_SESSION": "true", "SEC_CLAIMTOBE_INCLUDE_DOMAIN": "false|true",
	"SEC_ACCEPT_CAPABILITY_TOKENS": "false", "SEC_USE_LOW_DATA_MODE": "false", "SEC_USE_TOKENS_DATABASE": "false",
	"CERTIFICATE_MAPFILE_ASSUME_HASH_KEYS": "false", "USE_POOL_USERNAME_EQUIVALENT": "true",
}
