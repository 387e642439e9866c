package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// guarded are the permissions that commands to us need.
var guarded = []security.Permission{
	security.Read, security.Write, security.Daemon, security.Administrator, security.Negotiator,
	security.AdvertiseSchedd, security.AdvertiseStartd,
}

// Server makes the server that accepts commands. It reads the permissions anew for each command.
// The error names the knobs that cannot be read.
func (s *Site) Server(who *atomic.Pointer[condorconfig.Permissions]) (*security.Server, error) {
	wishes, errWishes := serverWishes(s.Config)
	revoked, errRevoked := revocation(s.Config)
	age, errAge := s.Config.Seconds("SEC_TOKEN_MAX_AGE")
	if s.Config.Text("SEC_TOKEN_MAX_AGE") == "-1" { // any age, as HTCondor has it
		age, errAge = 0, nil
	}
	methods := map[security.Permission][]security.Method{}
	for _, level := range guarded {
		list, _, set := s.Config.ByLevel("SEC_%s_AUTHENTICATION_METHODS", string(level))
		if !set {
			list = s.Config.Text("SEC_DEFAULT_AUTHENTICATION_METHODS")
		}
		methods[level] = security.ParseMethods(list)
	}
	return &security.Server{
		Name:       "NEGOTIATOR",
		MethodsFor: func(p security.Permission) []security.Method { return methods[p] },
		Wishes:     func(p security.Permission) security.Wishes { return wishes[p] },
		Domain:     s.Config.Text("UID_DOMAIN"), TrustDomain: s.Config.Text("TRUST_DOMAIN"),
		Keys: s.keys, Family: s.Inherited.Family, Revoked: revoked, MaxAge: age,
		Allow: func(peer security.Peer, need security.Permission) bool {
			from, err := netip.ParseAddr(peer.Address)
			return peer.Family || err == nil && who.Load().Allows(string(need), peer.User, from)
		},
	}, errors.Join(errWishes, errRevoked, errAge)
}

// serverWishes reads what streams must have for commands of each permission. What nobody sets is
// OPTIONAL for READ and REQUIRED for all others. Only a setting for the level itself makes it less,
// not that of SEC_DEFAULT_….
func serverWishes(c *condorconfig.Config) (map[security.Permission]security.Wishes, error) {
	all := map[security.Permission]security.Wishes{}
	var errs []error
	for _, p := range guarded {
		var w security.Wishes
		for feature, target := range map[string]*security.Level{
			"AUTHENTICATION": &w.Authentication, "ENCRYPTION": &w.Encryption, "INTEGRITY": &w.Integrity,
		} {
			var err error
			*target, err = serverWish(c, "SEC_%s_"+feature, p)
			errs = append(errs, err)
		}
		all[p] = w
	}
	return all, errors.Join(errs...)
}

// serverWish reads one setting for a permission, such as SEC_%s_ENCRYPTION.
func serverWish(c *condorconfig.Config, format string, p security.Permission) (security.Level, error) {
	builtIn, from := security.Required, string(p)
	if p == security.Read {
		builtIn = security.Optional
	}
	text, knob, set := c.ByLevel(format, from)
	general := fmt.Sprintf(format, "DEFAULT")
	if !set || p != security.Read && (knob == general || knob == general+"_NEGOTIATOR") {
		return builtIn, nil
	}
	level, err := security.ParseLevel(text)
	if err != nil {
		return security.Required, fmt.Errorf("%s: %w", knob, err)
	}
	return level, nil
}

// revocation reads which tokens are revoked; nil if none is.
func revocation(c *condorconfig.Config) (*classad.Expr, error) {
	knob := "SEC_TOKEN_REVOCATION_EXPR"
	text := cmp.Or(c.Text(knob), c.Text("SEC_TOKEN_BLACKLIST_EXPR")) // the former name
	if text == "" {
		return nil, nil //nolint:nilnil // no token is revoked
	}
	e, err := classad.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", knob, err)
	}
	return e, nil
}
