// Package choose turns what a user calls a policy into a decider, and picks the
// fallback that goes with it. It is the one place that knows both the linked-in
// policies and plugins.
package choose

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// Request is a wish for a policy.
type Request struct {
	// Policy is a name, or the path of a plugin (it holds a separator).
	Policy  string
	Options map[string]string
	// Resources are the pool's, which options may name; nil: the pool is not known.
	Resources []string
	// Dirs are searched for backfill-NAME, before the folder of this executable.
	Dirs []string
	// InProcess links the policy in if it is given by name and no plugin
	// directory is: no boundary, no child process.
	InProcess bool
	// WithoutTLS leaves AutoMTLS off.
	WithoutTLS             bool
	StartTimeout, Deadline time.Duration // 0: the host's defaults
	Logger                 hclog.Logger
}

// Chosen is a policy and its fallback.
type Chosen struct {
	Main, Fallback backfill.Decider
	close          func()
}

// Close ends the policy's process, if it has one.
func (c *Chosen) Close() {
	if c.close != nil {
		c.close()
	}
}

// Policy finds a policy and makes it ready: a path is a plugin; a name is
// backfill-NAME in the plugin directories, else a linked-in policy, which runs
// as a child of this executable behind the same boundary, or in this process.
func Policy(ctx context.Context, r Request) (*Chosen, error) {
	command, spec, err := locate(r)
	if err != nil {
		return nil, err
	}
	chosen := &Chosen{}
	if command == nil {
		if chosen.Main, err = backfill.Link(spec, r.Options); err != nil {
			return nil, err
		}
	} else {
		remote, startErr := host.Start(ctx, *command, host.Options{
			Policy: r.Options, Deadline: r.Deadline, StartTimeout: r.StartTimeout, NoMTLS: r.WithoutTLS, Logger: r.Logger,
		})
		if startErr != nil {
			return nil, startErr
		}
		chosen.Main, chosen.close = remote, func() { remote.Close() }
	}
	if r.Resources != nil {
		err = chosen.Main.Spec().CheckResources(r.Options, r.Resources)
	}
	if err == nil {
		chosen.Fallback, err = backfill.Link(policies.FallbackFor(chosen.Main.Spec()), nil)
	}
	if err != nil {
		chosen.Close()
		return nil, err
	}
	return chosen, nil
}

// locate finds the command of a plugin, or, if there is none to be started, the
// linked-in policy.
func locate(r Request) (*host.Command, backfill.Spec, error) {
	if r.Policy == "" {
		return nil, backfill.Spec{}, errors.New("no policy is named")
	}
	isPath := filepath.Base(r.Policy) != r.Policy
	if !isPath && r.InProcess && len(r.Dirs) == 0 {
		spec, err := policies.Named(r.Policy)
		return nil, spec, err
	}
	path, found, err := host.Find(r.Policy, searchPath(r))
	if err != nil {
		return nil, backfill.Spec{}, err
	}
	if found {
		return &host.Command{Path: path}, backfill.Spec{}, nil
	}
	spec, err := policies.Named(r.Policy)
	if err != nil {
		return nil, spec, err
	}
	if r.InProcess {
		return nil, spec, nil
	}
	if _, err = spec.Make(r.Options); err != nil { // a clearer word than the child's
		return nil, spec, err
	}
	self, err := host.Self(spec.Name)
	return &self, spec, err
}

// searchPath is where plugins are looked for.
func searchPath(r Request) []string {
	self, err := host.Self("")
	if err != nil || r.InProcess {
		return r.Dirs
	}
	return append(append([]string(nil), r.Dirs...), filepath.Dir(self.Path))
}
