package security

import (
	"errors"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// features are what a stream or a session has.
type features struct{ authentication, encryption, integrity bool }

// lacking returns an error that names the first feature that is REQUIRED and that a stream or
// session does not have; nil if it has them all.
func (w Wishes) lacking(has features) error {
	for _, f := range []struct {
		name    string
		wanted  Level
		present bool
	}{
		{"authentication", w.Authentication, has.authentication},
		{"encryption", w.Encryption, has.encryption},
		{"integrity", w.Integrity, has.integrity},
	} {
		if f.wanted == Required && !f.present {
			return fmt.Errorf("%s is REQUIRED here", f.name)
		}
	}
	return nil
}

// offered returns what a client with these methods offers. Before 23.10 only an authentication
// produces a key, so authentication is wanted at least as much as what needs a key, and without it
// nothing else is wanted. It is an error if something is REQUIRED that cannot be had. HTCondor does
// the same (SecMan::ReconcileSecurityDependency).
func (w Wishes) offered(methods []Method) (Wishes, error) {
	for _, l := range []*Level{&w.Authentication, &w.Encryption, &w.Integrity} {
		if *l == "" {
			*l = Preferred
		}
	}
	if len(methods) > 0 && w.Authentication != Never {
		w.Authentication = stronger(w.Authentication, stronger(w.Encryption, w.Integrity))
		return w, nil
	}
	if err := w.lacking(features{}); err != nil {
		return w, fmt.Errorf("%w, but without authentication there is none, nor a key: set the methods "+
			"(SEC_CLIENT_AUTHENTICATION_METHODS), and no SEC_…_AUTHENTICATION to NEVER", err)
	}
	return Wishes{Authentication: Never, Encryption: Never, Integrity: Never}, nil
}

// stronger returns the level that wants a feature more.
func stronger(a, b Level) Level {
	for _, l := range []Level{Required, Preferred, Optional} {
		if a == l || b == l {
			return l
		}
	}
	return Never
}

// heed returns which features the other side's answer to our offer gives the stream. A feature that
// is REQUIRED here and missing there is an error, and so is a promise that cannot be kept: then
// nothing more may be sent.
func (c *Client) heed(answer *classad.ClassAd) (features, error) {
	says := func(name string) bool {
		text, _ := answer.Literal(name).Text()
		return strings.EqualFold(text, "YES")
	}
	said := features{says("Authentication"), says("Encryption"), says("Integrity")}
	if err := c.Wishes.lacking(said); err != nil {
		return said, fmt.Errorf("%w, but the other side goes without it: compare its SEC_ settings", err)
	}
	_, key := answer.Literal("ECDHPublicKey").Text()
	switch secret := said.encryption || said.integrity; {
	case secret && !said.authentication:
		return said, errors.New("the other side promises encryption without authentication, which may hide us from nobody")
	case secret && !key:
		return said, errors.New("the other side promises encryption and sends no public key")
	}
	return said, nil
}
