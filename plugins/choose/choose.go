// Package choose turns a user's choice of policy into a decider and picks its fallback. It is the
// only package that decides between a linked-in policy and a plugin.
package choose

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// Request is a choice of policy.
type Request struct {
	// Policy is a name, or the path of a plugin (with a separator).
	Policy  string
	Options map[string]string
	// Others are what users may name instead of a policy: an error about an unknown one lists them, too.
	Others []string
	// Fallback is the name of a linked-in policy that decides where Policy cannot; empty means
	// conservative if Policy gives guarantees, else easy.
	Fallback string
	// Resources are the pool's resources, which options may name; nil if the pool is not known.
	Resources []string
	// Dirs are searched for backfill-NAME, before the folder of this executable.
	Dirs []string
	// InProcess runs the linked-in policy in this process if Policy is a name that no plugin
	// directory contains.
	InProcess bool
	Plugins
}

// Plugins says which plugins may run, and how. Its keys, and the entries of Allow, name a plugin by
// a path, or by a name with or without backfill-. They mean the file at the end of all links,
// whatever path leads to it. The zero value is valid.
type Plugins struct {
	// Run says how plugins run; an entry of Each replaces it for one plugin. The field Policy of
	// these options is ignored.
	Run  host.Options
	Each map[string]host.Options
	// Allow lists the plugins that may be started; nil means all. Linked-in policies always may.
	Allow []string
	// Checksums are the SHA-256 sums that some plugins must have at every start.
	Checksums map[string][]byte
}

// Chosen is a policy and its fallback.
type Chosen struct {
	Main, Fallback backfill.Decider
	close          func()
}

// Repeatable returns the policy and its fallback, of which there may be more: all policies that are
// found here can be repeated.
func (c *Chosen) Repeatable() (main, fallback backfill.Repeatable, err error) {
	main, one := c.Main.(backfill.Repeatable)
	fallback, other := c.Fallback.(backfill.Repeatable)
	if !one || !other {
		return nil, nil, fmt.Errorf("there cannot be more than one of policy %s", c.Main.Spec().Name)
	}
	return main, fallback, nil
}

// Close ends the policy's process, if it has one.
func (c *Chosen) Close() {
	if c.close != nil {
		c.close()
	}
}

// Policy finds a policy and starts it: a path is a plugin; a name is backfill-NAME in the plugin
// directories, or else a linked-in policy, which runs as a child of this executable behind the same
// boundary, or in this process.
func Policy(ctx context.Context, r Request) (*Chosen, error) {
	r.warn()
	return start(ctx, r)
}

// Several returns a function that finds policies one by one and starts them, as [Policy] does, each with
// options of its own. A name is looked for where the request says, but what is linked in runs in this
// process. Settings that have no effect are told once.
func Several(r Request) func(ctx context.Context, policy string, options map[string]string) (*Chosen, error) {
	r.warn()
	r.Dirs, r.InProcess = searchPath(r), true
	return func(ctx context.Context, policy string, options map[string]string) (*Chosen, error) {
		one := r
		one.Policy, one.Options = policy, options
		return start(ctx, one)
	}
}

func start(ctx context.Context, r Request) (*Chosen, error) {
	found, spec, err := locate(r)
	if err != nil {
		return nil, err
	}
	chosen := &Chosen{}
	if found == nil {
		if chosen.Main, err = backfill.Link(spec, r.Options); err != nil {
			return nil, err
		}
	} else {
		options, optionsErr := r.options(found)
		if optionsErr != nil {
			return nil, optionsErr
		}
		if options.NoMTLS && options.Logger != nil {
			options.Logger.Debug("the plugin's connection is not encrypted: it is a socket for this user alone",
				"plugin", r.Policy)
		}
		if found.linked != "" { // our own policy decides alike in this process, for plays and copies
			options.Linked = func() (backfill.Decider, error) { return backfill.Link(spec, r.Options) }
		}
		remote, startErr := host.Start(ctx, found.command, options)
		if errors.Is(startErr, goplugin.ErrChecksumsDoNotMatch) {
			startErr = setting("checksums", "%w: the file is not the one that is meant here", startErr)
		}
		if startErr != nil {
			return nil, startErr
		}
		chosen.Main, chosen.close = remote, remote.Close
	}
	if r.Resources != nil {
		err = chosen.Main.Spec().CheckResources(r.Options, r.Resources)
	}
	if err == nil {
		chosen.Fallback, err = fallback(r.Fallback, chosen.Main.Spec())
	}
	if err != nil {
		chosen.Close()
		return nil, err
	}
	return chosen, nil
}

// fallback returns the linked-in policy that decides where the main policy cannot.
func fallback(name string, main backfill.PolicySpec) (backfill.Decider, error) {
	spec, err := policies.FallbackNamed(name, main)
	if err != nil {
		return nil, err
	}
	return backfill.Link(spec, nil)
}

// locate finds the policy: an executable that is to be started as a plugin or, if that is nil, a
// linked-in policy that is to run in this process.
func locate(r Request) (*executable, backfill.PolicySpec, error) {
	if r.Policy == "" {
		return nil, backfill.PolicySpec{}, errors.New("no policy is named")
	}
	isPath := filepath.Base(r.Policy) != r.Policy
	if !isPath && r.InProcess && len(r.Dirs) == 0 {
		spec, err := policies.Named(r.Policy, r.Others...)
		return nil, spec, err
	}
	path, found, err := host.Find(r.Policy, searchPath(r))
	if err != nil {
		return nil, backfill.PolicySpec{}, err
	}
	if found {
		file, permitErr := r.permit(path)
		return file, backfill.PolicySpec{}, permitErr
	}
	spec, err := policies.Named(r.Policy, r.Others...)
	if err != nil {
		return nil, spec, err
	}
	if r.InProcess {
		return nil, spec, nil
	}
	if _, err = spec.Make(r.Options); err != nil { // a clearer error than the child's
		return nil, spec, err
	}
	self, err := host.Self(spec.Name)
	return &executable{command: self, linked: spec.Name}, spec, err
}

// searchPath returns the directories in which plugins are searched: Dirs and, unless InProcess, the
// folder of this executable.
func searchPath(r Request) []string {
	self, err := host.Self("")
	if err != nil || r.InProcess {
		return r.Dirs
	}
	return append(append([]string(nil), r.Dirs...), filepath.Dir(self.Path))
}
