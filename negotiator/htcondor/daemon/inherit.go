package daemon

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Inheritance is what condor_master hands to a daemon that it starts; the zero
// one says that nobody did.
type Inheritance struct {
	// Parent is condor_master's process; 0: there is none.
	Parent  int
	Address cedar.Address
	// Session is for commands to condor_master; Family for those to all daemons that it
	// started. nil: it gave none.
	Session, Family *security.Key
}

// The variables that condor_master sets.
const (
	inherit        = "CONDOR_INHERIT"
	privateInherit = "CONDOR_PRIVATE_INHERIT"
)

// Inherited tells whether condor_master started this process, without a look at
// what it says.
func Inherited() bool { return os.Getenv(inherit) != "" }

// Inherit reads what condor_master says to this process and takes it out of the
// environment, so that no child gets to know the keys. Errors do not quote them.
func Inherit() (Inheritance, error) {
	public, private := os.Getenv(inherit), os.Getenv(privateInherit)
	for _, name := range []string{inherit, privateInherit} {
		if err := os.Unsetenv(name); err != nil {
			return Inheritance{}, err
		}
	}
	return parseInheritance(public, private)
}

func parseInheritance(public, private string) (Inheritance, error) {
	var i Inheritance
	// Behind these two are sockets and the shared port's, which are of no use here.
	if words := strings.Fields(public); len(words) > 0 {
		var err error
		if i.Parent, err = strconv.Atoi(words[0]); err != nil || i.Parent < 1 || len(words) < 2 {
			return Inheritance{}, fmt.Errorf("%s does not begin with condor_master's process and address: %q", inherit, public)
		}
		if i.Address, err = cedar.ParseAddress(words[1]); err != nil {
			return Inheritance{}, fmt.Errorf("%s: %w", inherit, err)
		}
	}
	for word := range strings.FieldsSeq(private) {
		for prefix, target := range map[string]**security.Key{"SessionKey:": &i.Session, "FamilySessionKey:": &i.Family} {
			text, ok := strings.CutPrefix(word, prefix)
			if !ok {
				continue
			}
			key, err := security.ParseKey(text)
			if err != nil {
				return i, fmt.Errorf("%s: %s %w", privateInherit, prefix, err)
			}
			*target = &key
		}
	}
	return i, nil
}
