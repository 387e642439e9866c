package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/plugins/choose"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// activator starts the policies that the configuration names, and holds the active one.
type activator struct {
	flags     *poolFlags
	logger    hclog.Logger
	logLevel  func() string // the log level if neither file nor flag sets one
	resources []string
	labels    []string          // those that are read from jobs
	fairShare *negotiator.Order // nil: the pool has none
	history   *estimate.History // what the first estimators have learned at the start; may be nil
	ran       report.Run        // the policies that were active so far
	*active
}

// active is the active policy, with what goes with it.
type active struct {
	settings config.Config // with the order that is in force
	order    negotiator.Order
	policy   *choose.Chosen // of a chooser, its base
	chooser  *auto.Chooser  // nil: the policy is not chosen
	// guarantees says that the policy gives guarantees.
	guarantees bool
	estimates  *estimate.Set
	gaveUp     bool // the policy failed too often; its fallback decides
	report     func(backfill.Refusal)
}

// startPolicy starts the policy that the settings name. All its errors are caused by the input.
func (a *activator) startPolicy(ctx context.Context, s config.Config) (*active, error) {
	if s.Policy == auto.Name {
		return a.startChooser(s)
	}
	next := &active{report: cli.LogRefusals(a.logger)}
	var err error
	next.policy, err = choose.Policy(ctx, choose.Request{
		Policy: s.Policy, Options: s.Options, Fallback: s.Fallback, Resources: a.resources,
		Dirs: s.Plugins.Dirs, InProcess: s.Plugins.InProcess, Plugins: a.plugins(s.Plugins),
	})
	if err != nil {
		return nil, a.flags.blame(err)
	}
	spec := next.policy.Main.Spec()
	next.guarantees = spec.Guarantees
	chosen := s.Order
	s.Order = s.OrderUnder(spec)
	next.settings = s
	if next.order, err = a.orderNamed(s.Order); err == nil {
		next.estimates, err = a.estimators(s, next.guarantees)
	}
	if err != nil {
		next.policy.Close()
		return nil, err
	}
	if err = spec.Follows(s.Planning()); err != nil && spec.Guarantees {
		a.logger.Warn("the plan has no limit", "why", err)
	}
	switch {
	case !spec.IgnoresOrder || spec.PlanDepth && s.Reorder:
	case s.Order == config.FairShare:
		a.logger.Warn("the policy serves jobs by submit time: user priorities, JobPrio and nice_user have no effect",
			"policy", spec.Name)
	case chosen != "" && (a.flags.Order != nil || chosen != "fcfs"):
		a.logger.Warn("the policy ignores the order", "policy", spec.Name, "order", s.Order)
	}
	return next, nil
}

// startChooser starts what chooses the policy and the order.
func (a *activator) startChooser(s config.Config) (*active, error) {
	own := func(setting string) error {
		return fmt.Errorf("%s: policy %s chooses it with the policy; policy_options portfolio says from what",
			setting, auto.Name)
	}
	switch {
	case s.Order != "":
		return nil, a.flags.locate(own(s.Order), a.flags.Order != nil, "order")
	case s.Fallback != "":
		return nil, a.flags.locate(own(s.Fallback), false, "fallback")
	}
	workers := runtime.GOMAXPROCS(0)
	if s.OnRealPool() { // a core is for the cycles
		workers = max(1, workers-1)
		a.logger.Warn("the order is chosen with the policy: user priorities, JobPrio and nice_user have no effect",
			"policy", auto.Name)
	}
	chooser, err := auto.New(s.Options, workers)
	if err != nil {
		return nil, a.flags.blame(err)
	}
	chooser.Chosen = func(made *auto.Choice) { made.Log(a.logger.Info, a.logger.Warn) }
	base := chooser.Base()
	next := &active{
		report: cli.LogRefusals(a.logger), settings: s, chooser: chooser, order: base.Order,
		policy:     &choose.Chosen{Main: base.Policy, Fallback: base.Fallback},
		guarantees: chooser.Spec().Guarantees,
	}
	if next.estimates, err = a.estimators(s, next.guarantees); err != nil {
		return nil, err
	}
	chooser.Use(s.Planning(), next.estimates)
	return next, nil
}

// Cycle has the chooser, if there is one, see a cycle of a simulation, and choose.
func (a *activator) Cycle(r *negotiator.Report) error {
	if a.chooser == nil {
		return nil
	}
	return a.chooser.Cycle(r)
}

// inCharge names the policy and the order that are in charge.
func (a *active) inCharge() (policy, order string) {
	if a.chooser != nil {
		is := a.chooser.InCharge()
		return is.Policy.Spec().Name, is.OrderName
	}
	return a.policy.Main.Spec().Name, a.settings.Order
}

// change asks for the policy, at first the base of a chooser, and all that goes with it.
func (a *active) change() negotiator.Change {
	return negotiator.Change{
		Order: a.order, Policy: a.policy.Main, Fallback: a.policy.Fallback, Planning: a.settings.Planning(),
		Estimates: a.estimates,
	}
}

// asked is what the user called the policy, and the order that goes with it; "" if that is chosen.
func (a *active) asked() (policy, order string) {
	if a.chooser != nil {
		return auto.Name, ""
	}
	return a.policy.Main.Spec().Name, a.settings.Order
}

// orderNamed returns the queue's order of that name; on a real pool the name may be fairshare.
func (a *activator) orderNamed(name string) (negotiator.Order, error) {
	if name == config.FairShare && a.fairShare != nil {
		return *a.fairShare, nil
	}
	return negotiator.OrderNamed(name)
}

// plugins converts the configured settings of plugins to those with which they are run.
func (a *activator) plugins(s config.Plugins) choose.Plugins {
	options := func(r config.Running) host.Options {
		const never = -1
		return host.Options{
			StartTimeout: r.StartTimeout, Deadline: r.Deadline, Memory: int64(r.Memory),
			Restarts: cmp.Or(int(r.Restarts), never), NoMTLS: r.MTLS == "off", Logger: a.logger,
			Processes: cmp.Or(int(r.Processes), never), Environment: r.Environment,
		}
	}
	all := choose.Plugins{
		Run: options(s.Running), Each: map[string]host.Options{}, Allow: s.Allow,
		Checksums: map[string][]byte{},
	}
	for name, running := range s.Each {
		all.Each[name] = options(running)
	}
	for name, sum := range s.Checksums {
		all.Checksums[name] = sum[:]
	}
	return all
}

// blame adds to an error the line of the configuration file that caused it, unless a flag did.
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

// locate adds to an error the line of the configuration file with the setting of this key, unless a
// flag gives the setting.
func (c *poolFlags) locate(err error, byFlag bool, key ...string) error {
	if site := c.htcondor.Load(); site != nil && c.Config == "" && !byFlag && !errors.Is(err, context.Canceled) {
		return site.Blame(strings.Join(key, "_"), err)
	}
	if c.Config == "" || byFlag || errors.Is(err, context.Canceled) {
		return err
	}
	return config.Locate(c.Config, err, key...)
}

// refused logs a decision that was refused, and notes whether the policy was given up.
func (a *activator) refused(r backfill.Refusal) {
	a.report(r)
	a.gaveUp = a.gaveUp || errors.Is(r.Err, backfill.ErrGivenUp)
}

// fallbackInUse names the fallback of a policy that was given up; "": it was not.
func (a *activator) fallbackInUse() string {
	if !a.gaveUp {
		return ""
	}
	return a.policy.Fallback.Spec().Name
}
