package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Inheritance is what condor_master passes to a daemon that it starts. It is zero if condor_master
// did not start this process.
type Inheritance struct {
	// Parent is condor_master's process ID; 0: there is none.
	Parent  int
	Address cedar.Address
	// Session is the key for commands to condor_master, Family that for all daemons that it
	// started; nil if it gave none.
	Session, Family *security.Key
}

// The variables that condor_master sets.
const (
	inherit        = "CONDOR_INHERIT"
	privateInherit = "CONDOR_PRIVATE_INHERIT"
)

// Inherited tells whether condor_master started this process.
func Inherited() bool { return os.Getenv(inherit) != "" }

// Inherit reads what condor_master passed to this process and removes it from the environment, so
// that neither a child nor another process of the same user sees the keys. From then on the memory
// of this process is closed to them. Errors do not quote keys.
func Inherit() (Inheritance, error) {
	public, private := os.Getenv(inherit), os.Getenv(privateInherit)
	err := conceal()
	if private != "" {
		err = errors.Join(err, erase(privateInherit))
	}
	if err != nil {
		return Inheritance{}, err
	}
	for _, name := range []string{inherit, privateInherit} {
		if err := os.Unsetenv(name); err != nil {
			return Inheritance{}, err
		}
	}
	return parseInheritance(public, private)
}

func parseInheritance(public, private string) (Inheritance, error) {
	var i Inheritance
	// After these two come sockets and the shared port, which are not needed here.
	if words := strings.Fields(public); len(words) > 0 {
		var err error
		if i.Parent, err = strconv.Atoi(words[0]); err != nil || i.Parent < 1 || len(words) < 2 {
			return Inheritance{}, fmt.Errorf("%s does not begin with condor_master's process and address: %q",
				inherit, public)
		}
		if i.Address, err = cedar.ParseAddress(words[1]); err != nil {
			return Inheritance{}, fmt.Errorf("%s: %w", inherit, err)
		}
	}
	for word := range strings.FieldsSeq(private) {
		for prefix, target := range map[string]**security.Key{
			"SessionKey:": &i.Session, "FamilySessionKey:": &i.Family,
		} {
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

// Master is condor_master, which started this process.
type Master interface {
	// Alive says that this process is alive, and that it will say so again within until.
	Alive(ctx context.Context, pid int, until time.Duration) error
	// Ready says that this process is at work.
	Ready(ctx context.Context, pid int, name string) error
}

// hungAfter is the silence after which condor_master may take this process for hung and end it.
// Alive is sent three times as often.
const hungAfter = 600 * time.Second

// keepAlive tells condor_master periodically that this process is alive, until the context ends, but
// not while the cycles are stuck. It repeats a failed message soon.
func keepAlive(ctx context.Context, m Master, stuck func() bool, log hclog.Logger) {
	const soon = 10 * time.Second
	for {
		pause := hungAfter / 3
		if stuck() {
			log.Error("A CYCLE IS STUCK: condor_master is not told that we are alive, and will restart us",
				"longer_than", hungAfter)
			pause = soon
		} else if err := m.Alive(ctx, os.Getpid(), hungAfter); err != nil && ctx.Err() == nil {
			log.Warn("condor_master could not be told that we are alive", "error", err, "again_in", soon)
			pause = soon
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// orphaned waits until this process has another parent than the given one, condor_master, which
// means that condor_master has died. It returns false if the context ends first.
func orphaned(ctx context.Context, parent int) bool {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for os.Getppid() == parent {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
