package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/plugins/choose"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// charge is who is in charge of the pool, and by which settings.
type charge struct {
	settings config.Config
	order    negotiator.Order
	policy   *choose.Chosen
	gaveUp   bool // the policy will decide no more
	report   func(backfill.Refusal)
}

// appoint starts the policy that the settings name. All its errors are the
// input's fault.
func (p *prepared) appoint(ctx context.Context, s config.Config) (*charge, error) {
	next := &charge{settings: s, report: cli.LogRefusals(p.logger)}
	var err error
	if next.order, err = negotiator.OrderNamed(s.Order); err != nil {
		return nil, err
	}
	next.policy, err = choose.Policy(ctx, choose.Request{
		Policy: s.Policy, Options: s.Options, Fallback: s.Fallback, Resources: p.workload.Schema.Resources,
		Dirs: s.Plugins.Dirs, InProcess: s.Plugins.InProcess, Plugins: p.plugins(s.Plugins),
	})
	if err != nil {
		return nil, p.flags.blame(err)
	}
	if spec := next.policy.Main.Spec(); spec.IgnoresOrder && (p.flags.Order != nil || s.Order != config.Default().Order) {
		p.logger.Warn("the policy ignores the order", "policy", spec.Name, "order", s.Order)
	}
	return next, nil
}

// plugins says how plugins are run.
func (p *prepared) plugins(s config.Plugins) choose.Plugins {
	options := func(r config.Running) host.Options {
		const never = -1
		return host.Options{
			StartTimeout: time.Duration(r.StartTimeout), Deadline: time.Duration(r.Deadline), Memory: int64(r.Memory),
			Restarts: cmp.Or(int(r.Restarts), never), NoMTLS: r.MTLS == "off", Logger: p.logger,
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
	if c.Config == "" || byFlag || errors.Is(err, context.Canceled) {
		return err
	}
	return config.Locate(c.Config, err, key...)
}

// refused is told of each decision that did not count.
func (p *prepared) refused(r backfill.Refusal) {
	p.report(r)
	p.gaveUp = p.gaveUp || errors.Is(r.Err, backfill.ErrGivenUp)
}

// standIn is the fallback of a policy that was given up; "": it was not.
func (p *prepared) standIn() string {
	if !p.gaveUp {
		return ""
	}
	return p.policy.Fallback.Spec().Name
}
