package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/plugins/choose"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// office appoints who is in charge, and knows who is.
type office struct {
	flags     *poolFlags
	logger    hclog.Logger
	logLevel  func() string // where nothing else is set
	resources []string
	labels    []string          // that are read of jobs
	fairShare *negotiator.Order // nil: there is none here
	history   *estimate.History // what the first estimators begin with; nil: nothing
	ran       report.Run        // what was in charge so far
	*charge
}

// charge is who is in charge of the pool, and by which settings.
type charge struct {
	settings config.Config
	order    negotiator.Order
	policy   *choose.Chosen
	// guarantees says that the policy gives them.
	guarantees bool
	estimates  *estimate.Set
	gaveUp     bool // the policy will decide no more
	report     func(backfill.Refusal)
}

// appoint starts the policy that the settings name. All its errors are the
// input's fault.
func (o *office) appoint(ctx context.Context, s config.Config) (*charge, error) {
	next := &charge{settings: s, report: cli.LogRefusals(o.logger)}
	var err error
	if next.order, err = o.orderNamed(s.Order); err != nil {
		return nil, err
	}
	next.policy, err = choose.Policy(ctx, choose.Request{
		Policy: s.Policy, Options: s.Options, Fallback: s.Fallback, Resources: o.resources,
		Dirs: s.Plugins.Dirs, InProcess: s.Plugins.InProcess, Plugins: o.plugins(s.Plugins),
	})
	if err != nil {
		return nil, o.flags.blame(err)
	}
	next.guarantees = next.policy.Main.Spec().Guarantees
	if next.estimates, err = o.estimators(s, next.guarantees); err != nil {
		next.policy.Close()
		return nil, err
	}
	if spec := next.policy.Main.Spec(); spec.IgnoresOrder && (o.flags.Order != nil || s.Order != config.Default().Order && s.Order != config.FairShare) {
		o.logger.Warn("the policy ignores the order", "policy", spec.Name, "order", s.Order)
	}
	return next, nil
}

// orderNamed is the queue's order, which on a real pool may be fair share.
func (o *office) orderNamed(name string) (negotiator.Order, error) {
	if name == config.FairShare && o.fairShare != nil {
		return *o.fairShare, nil
	}
	return negotiator.OrderNamed(name)
}

// plugins says how plugins are run.
func (o *office) plugins(s config.Plugins) choose.Plugins {
	options := func(r config.Running) host.Options {
		const never = -1
		return host.Options{
			StartTimeout: time.Duration(r.StartTimeout), Deadline: time.Duration(r.Deadline), Memory: int64(r.Memory),
			Restarts: cmp.Or(int(r.Restarts), never), NoMTLS: r.MTLS == "off", Logger: o.logger,
		}
	}
	all := choose.Plugins{Run: options(s.Running), Each: map[string]host.Options{}, Allow: s.Allow, Checksums: map[string][]byte{}}
	for name, running := range s.Each {
		all.Each[name] = options(running)
	}
	for name, sum := range s.Checksums {
		all.Checksums[name] = sum[:]
	}
	return all
}

// blame names the line of the configuration file that an error comes of, unless
// that is a flag.
func (c *poolFlags) blame(err error) error {
	key, byFlag := []string{"policy"}, c.Policy != nil
	if _, wrong := errors.AsType[*backfill.OptionsError](err); wrong {
		key, byFlag = []string{"policy_options"}, c.PolicyOpt != nil
	}
	if _, wrong := errors.AsType[*policies.FallbackError](err); wrong {
		key, byFlag = []string{"fallback"}, false
	}
	if s, wrong := errors.AsType[*choose.SettingError](err); wrong {
		key, byFlag, err = s.Key, false, s.Err
	}
	return c.locate(err, byFlag, key...)
}

// locate names the line of the configuration file where a setting stands, unless it
// is given by a flag.
func (c *poolFlags) locate(err error, byFlag bool, key ...string) error {
	if site := c.htcondor.Load(); site != nil && c.Config == "" && !byFlag && !errors.Is(err, context.Canceled) {
		return site.Blame(strings.Join(key, "_"), err)
	}
	if c.Config == "" || byFlag || errors.Is(err, context.Canceled) {
		return err
	}
	return config.Locate(c.Config, err, key...)
}

// refused is told of each decision that did not count.
func (o *office) refused(r backfill.Refusal) {
	o.report(r)
	o.gaveUp = o.gaveUp || errors.Is(r.Err, backfill.ErrGivenUp)
}

// standIn is the fallback of a policy that was given up; "": it was not.
func (o *office) standIn() string {
	if !o.gaveUp {
		return ""
	}
	return o.policy.Fallback.Spec().Name
}
