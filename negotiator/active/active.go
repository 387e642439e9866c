package active

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
	"github.com/condor-backfill/condor-backfill/plugins/choose"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// Activator starts the policies that the settings name, and holds the active one.
type Activator struct {
	Source *source.Settings
	Logger hclog.Logger
	// LogLevel is the log level if neither file nor flag sets one.
	LogLevel  func() string
	Resources []string
	Labels    []string          // those that are read from jobs
	FairShare *negotiator.Order // nil: the pool has none
	Users     *auto.Users       // nil: they have no priorities
	History   *estimate.History // what the first estimators have learned at the start; may be nil
	*Policy                     // the active one; nil before Start

	ran []InForce
}

// Policy is a policy that was started, with all that goes with it.
type Policy struct {
	Settings   config.Config // with the order and its estimator that are in force
	Order      negotiator.Order
	Deciders   *choose.Chosen // of a chooser, its base
	Chooser    *auto.Chooser  // nil: the policy is not chosen
	Guarantees bool           // the policy gives guarantees
	Estimates  *estimate.Set

	gaveUp bool // the policy failed too often; its fallback decides
	report func(backfill.Refusal)
}

// InForce is the policy, order and estimators from a time on.
type InForce struct {
	At            backfill.Time
	Policy, Order string
	Options       map[string]string
	// Estimates are the estimators; nil: jobs are planned with their requested times.
	Estimates *estimate.Summary
}

// Start starts the policy that the settings name, and makes it the active one. All its errors are
// caused by the input.
func (a *Activator) Start(ctx context.Context, s config.Config) (err error) {
	if a.Policy, err = a.start(ctx, s); err != nil {
		return err
	}
	name, order := a.asked()
	a.ran = []InForce{{
		Policy: name, Order: order, Options: a.Settings.Options,
		Estimates: a.Settings.EstimateSettings().Summary(a.Guarantees, a.Estimates.History().Len()),
	}}
	return nil
}

// Ran returns what was in force so far: first what was so at the start, where the estimators say what
// they had learned, then each change.
func (a *Activator) Ran() []InForce { return a.ran }

// start starts the policy that the settings name.
func (a *Activator) start(ctx context.Context, s config.Config) (*Policy, error) {
	if s.Policy == auto.Name {
		return a.startChooser(ctx, s)
	}
	s.Options = s.PolicyOptions()
	next := &Policy{report: cli.LogRefusals(a.Logger)}
	var err error
	next.Deciders, err = choose.Policy(ctx, choose.Request{
		Policy: s.Policy, Others: []string{auto.Name}, Options: s.Options, Fallback: s.Fallback, Resources: a.Resources,
		Dirs: s.Plugins.Dirs, InProcess: s.Plugins.InProcess, Plugins: a.plugins(s.Plugins),
	})
	if err != nil {
		return nil, a.blame(err)
	}
	spec := next.Deciders.Main.Spec()
	next.Guarantees = spec.Guarantees
	a.tellBoundary(s, next.Deciders.Main)
	chosen := s.Order
	s.Order = s.OrderUnder(spec)
	s.EstimatesOrder = s.EstimatesUnder(spec, s.Order).Order
	next.Settings = s
	if next.Order, err = a.orderNamed(s.Order); err == nil {
		next.Estimates, err = a.estimators(s, next.Guarantees)
	}
	if err != nil {
		next.Deciders.Close()
		return nil, err
	}
	if err = spec.Follows(s.Planning()); err != nil && spec.Guarantees {
		a.Logger.Warn("the plan has no limit", "why", err)
	}
	switch {
	case !spec.IgnoresOrder || spec.PlanDepth && s.Reorder:
	case s.Order == negotiator.FairShare:
		a.Logger.Warn("the policy serves jobs by submit time: user priorities, JobPrio and nice_user have no effect",
			"policy", spec.Name)
	case chosen != "" && (a.Source.Given("order") || chosen != "fcfs"):
		a.Logger.Warn("the policy ignores the order", "policy", spec.Name, "order", s.Order)
	}
	return next, nil
}

// tellBoundary says what keeps a plugin of a real pool from the rest of the machine, and what does
// not.
func (a *Activator) tellBoundary(s config.Config, policy backfill.Decider) {
	remote, ok := policy.(*host.Remote)
	if !ok || !s.OnRealPool() {
		return
	}
	boundary := remote.Boundary()
	a.Logger.Info("the policy's process has no more than this", "boundary", boundary)
	for _, lack := range boundary.Lacks() {
		a.Logger.Warn("this system does not keep the policy's process in bounds", "why", lack)
	}
}

// startChooser starts what chooses the policy and the order.
func (a *Activator) startChooser(ctx context.Context, s config.Config) (*Policy, error) {
	own := func(setting string) error {
		return fmt.Errorf("%s: policy %s chooses it with the policy; policy_options portfolio says from what",
			setting, auto.Name)
	}
	switch {
	case s.Order != "":
		return nil, a.Source.Locate(own(s.Order), "order")
	case s.Fallback != "":
		return nil, a.Source.Locate(own(s.Fallback), "fallback")
	}
	workers := runtime.GOMAXPROCS(0)
	if s.OnRealPool() { // a core is for the cycles
		workers = max(1, workers-1)
		a.Logger.Warn("the order is chosen with the policy: JobPrio has no effect, nor have the quotas of groups on the order",
			"policy", auto.Name)
	}
	chooser, err := auto.New(s.Options, workers, a.candidates(ctx, s))
	if err != nil {
		return nil, a.blame(err)
	}
	chooser.Chosen = func(made *auto.Choice) { made.Log(a.Logger.Info, a.Logger.Warn) }
	chooser.LookedBack = func(h *auto.Hindsight) { h.Log(a.Logger.Info, a.Logger.Warn) }
	if a.Users != nil {
		chooser.Prioritize(*a.Users)
	}
	base := chooser.Base()
	next := &Policy{
		report: cli.LogRefusals(a.Logger), Settings: s, Chooser: chooser, Order: base.Order,
		Deciders:   &choose.Chosen{Main: base.Policy, Fallback: base.Fallback},
		Guarantees: chooser.Spec().Guarantees,
	}
	if !s.OnRealPool() { // where the administrator decides from what users are judged
		next.Settings.EstimatesOrder = auto.Under(s.EstimateSettings()).Order
	}
	if next.Estimates, err = a.estimators(next.Settings, next.Guarantees); err != nil {
		chooser.Close()
		return nil, err
	}
	chooser.Use(s.Planning(), next.Estimates)
	return next, nil
}

// candidates finds the candidates of a chooser.
func (a *Activator) candidates(ctx context.Context, s config.Config) auto.Find {
	find := choose.Several(choose.Request{
		Resources: a.Resources, Dirs: s.Plugins.Dirs, InProcess: s.Plugins.InProcess, Plugins: a.plugins(s.Plugins),
	})
	return func(policy string, options map[string]string) (main, fallback backfill.Repeatable, end func(), err error) {
		chosen, err := find(ctx, policy, options)
		if err != nil {
			return nil, nil, nil, err
		}
		a.tellBoundary(s, chosen.Main)
		main, fallback, err = chosen.Repeatable()
		return main, fallback, chosen.Close, err
	}
}

// Cycle has the chooser, if there is one, see a cycle of a simulation, and choose.
func (a *Activator) Cycle(r *negotiator.Report) error {
	if a.Chooser == nil {
		return nil
	}
	return a.Chooser.Cycle(r)
}

// Close ends the policy, or all candidates of a chooser.
func (p *Policy) Close() {
	if p.Chooser != nil {
		p.Chooser.Close()
	}
	p.Deciders.Close()
}

// InCharge names the policy and the order that are in charge.
func (p *Policy) InCharge() (policy, order string) {
	if p.Chooser != nil {
		leader := p.Chooser.InCharge()
		return leader.Policy.Spec().Name, leader.OrderName
	}
	return p.Deciders.Main.Spec().Name, p.Settings.Order
}

// Change asks for the policy, at first the base of a chooser, and all that goes with it.
func (p *Policy) Change() negotiator.Change {
	return negotiator.Change{
		Order: p.Order, Policy: p.Deciders.Main, Fallback: p.Deciders.Fallback, Planning: p.Settings.Planning(),
		Estimates: p.Estimates,
	}
}

// asked is what the user called the policy, and the order that goes with it; "" if that is chosen.
func (p *Policy) asked() (policy, order string) {
	if p.Chooser != nil {
		return auto.Name, ""
	}
	return p.Deciders.Main.Spec().Name, p.Settings.Order
}

// orderNamed returns the queue's order of that name; on a real pool the name may be fairshare.
func (a *Activator) orderNamed(name string) (negotiator.Order, error) {
	if name == negotiator.FairShare && a.FairShare != nil {
		return *a.FairShare, nil
	}
	return negotiator.OrderNamed(name)
}

// plugins converts the configured settings of plugins to those with which they are run.
func (a *Activator) plugins(s config.Plugins) choose.Plugins {
	options := func(r config.Running) host.Options {
		const never = -1
		return host.Options{
			StartTimeout: r.StartTimeout, Deadline: r.Deadline, Memory: int64(r.Memory),
			Restarts: cmp.Or(int(r.Restarts), never), NoMTLS: r.MTLS == "off", Logger: a.Logger,
			Processes: cmp.Or(int(r.Processes), never), Environment: r.Environment,
			User: r.User, Reads: r.Reads, Network: r.Network,
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

// blame adds to an error the line of the configuration that caused it, unless a flag did.
func (a *Activator) blame(err error) error {
	key := []string{"policy"}
	if _, wrong := errors.AsType[*backfill.OptionsError](err); wrong {
		key = []string{"policy_options"}
	}
	if _, wrong := errors.AsType[*policies.FallbackError](err); wrong {
		key = []string{"fallback"}
	}
	if s, wrong := errors.AsType[*choose.SettingError](err); wrong {
		key, err = s.Key, s.Err
	}
	return a.Source.Locate(err, key...)
}

// Refused logs a decision that was refused, and notes whether the policy was given up. The process of
// one that was ends. A candidate of a chooser may be, while the others go on: the chooser notes it.
func (a *Activator) Refused(r backfill.Refusal) {
	a.report(r)
	if a.Chooser != nil {
		return
	}
	if errors.Is(r.Err, backfill.ErrGivenUp) && !a.gaveUp {
		a.gaveUp = true
		a.Close()
	}
}

// FallbackInUse names the fallback of a policy that was given up; "": it was not.
func (a *Activator) FallbackInUse() string {
	if !a.gaveUp {
		return ""
	}
	return a.Deciders.Fallback.Spec().Name
}
