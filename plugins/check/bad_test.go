package check_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/conservative"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// bad returns policies that each do one thing wrong.
func bad() []backfill.PolicySpec {
	rounds, revision := 0, uint64(0)
	return []backfill.PolicySpec{
		arranged("dice", func(jobs []*backfill.Job) {
			//nolint:forbidigo // it is what is wrong with it
			rand.Shuffle(len(jobs), func(i, k int) { jobs[i], jobs[k] = jobs[k], jobs[i] })
		}),
		arranged("clock", func(jobs []*backfill.Job) {
			if time.Now().UnixNano()>>10&1 == 0 { //nolint:forbidigo // it is what is wrong with it
				slices.Reverse(jobs)
			}
		}),
		arranged("remembers", func(jobs []*backfill.Job) {
			if rounds++; rounds%3 == 0 {
				slices.Reverse(jobs)
			}
		}),
		arranged("by-map", func(jobs []*backfill.Job) {
			unordered := map[*backfill.Job]bool{}
			for _, j := range jobs {
				unordered[j] = true
			}
			copy(jobs, slices.Collect(maps.Keys(unordered)))
		}),
		before(easy.Spec(), "mutates", func(c *backfill.Cycle) bool {
			for j := range c.Queue() {
				j.Estimate = 1
			}
			return true
		}),
		before(easy.Spec(), "confuses-branches", func(c *backfill.Cycle) bool {
			back := c.State().Revision() < revision && revision > 10 && c.State().Revision() > 10
			revision = c.State().Revision()
			return !back
		}),
		picky("idles", func(*backfill.Job) bool { return false }),
		picky("starves", func(j *backfill.Job) bool { return j.Nodes == 1 }),
		before(easy.Spec(), "panics", func(c *backfill.Cycle) bool {
			if waiting(c) == 5 {
				panic("on purpose")
			}
			return true
		}),
		before(easy.Spec(), "always-panics", func(*backfill.Cycle) bool { panic("in every round") }),
		before(easy.Spec(), "crashes", func(c *backfill.Cycle) bool {
			if waiting(c) == 5 {
				go panic("these are the last words")
				select {}
			}
			return true
		}),
		before(easy.Spec(), "hangs", func(c *backfill.Cycle) bool {
			if waiting(c) == 5 {
				select {}
			}
			return true
		}),
		before(easy.Spec(), "slow", func(c *backfill.Cycle) bool {
			if waiting(c) > 500 {
				select {}
			}
			return true
		}),
		before(easy.Spec(), "oversubscribes", func(c *backfill.Cycle) bool {
			scan.Begin(c)
			for j := range c.Queue() {
				c.Start(j, backfill.Placement{{Slot: 0, Count: j.Nodes}})
			}
			return false
		}),
		replans(),
		refuses(),
		before(easy.Spec(), "untaken", func(c *backfill.Cycle) bool {
			for j := range c.Queue() {
				if at, fits := c.FitsNow(j); fits {
					c.Start(j, at)
				}
			}
			return true
		}),
		before(easy.Spec(), "impatient", func(c *backfill.Cycle) bool {
			scan.Begin(c)
			for j := range c.Waiting() {
				if at, fits := c.State().Profile().Place(c.State().Request(j), c.Now()); fits {
					c.Start(j, at)
				}
			}
			return true
		}),
		promises("undue", func(c *backfill.Cycle) { place(c, true) }),
		promises("unpromised", func(c *backfill.Cycle) { place(c, false); startDue(c) }),
		promises("unplaced", func(c *backfill.Cycle) { scan.Begin(c) }),
		//nolint:nilnil // it is what is wrong with it
		{Name: "nil", Doc: "is none", New: func(backfill.Values) (backfill.Policy, error) { return nil, nil }},
	}
}

// promises returns a policy that declares guarantees and decides as given.
func promises(name string, decide backfill.PolicyFunc) backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: name, Doc: "promises", Guarantees: true,
		New: func(backfill.Values) (backfill.Policy, error) { return decide, nil },
	}
}

// place plans a start for every job that has none.
func place(c *backfill.Cycle, promise bool) {
	for e, more := c.Next(); more; e, more = c.Next() {
		jobs := e.Displaced
		if e.Kind == backfill.Submitted {
			jobs = append(jobs, e.Job)
		}
		for _, j := range jobs {
			if start, at, ok := c.Earliest(j, c.Now()); ok {
				c.Reserve(j, start, at)
				if promise && e.Kind == backfill.Submitted {
					c.Guarantee(j, start)
				}
			}
		}
	}
}

func startDue(c *backfill.Cycle) {
	for _, j := range c.Due() {
		_, at, _ := c.Reservation(j)
		c.Start(j, at)
	}
}

func waiting(c *backfill.Cycle) (n int) { return c.State().Waiting() }

// policy starts the chosen jobs that fit, in that order.
func policy(name string, choose func([]*backfill.Job) []*backfill.Job) backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: name, Doc: "does something wrong",
		New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				scan.Begin(c)
				for _, j := range choose(slices.Collect(c.Queue())) {
					if at, fits := c.FitsNow(j); fits {
						c.Start(j, at)
					}
				}
			}), nil
		},
	}
}

// picky starts only jobs that it likes.
func picky(name string, likes func(*backfill.Job) bool) backfill.PolicySpec {
	return policy(name, func(jobs []*backfill.Job) []*backfill.Job {
		return slices.DeleteFunc(jobs, func(j *backfill.Job) bool { return !likes(j) })
	})
}

// arranged starts jobs in another order.
func arranged(name string, arrange func([]*backfill.Job)) backfill.PolicySpec {
	return policy(name, func(jobs []*backfill.Job) []*backfill.Job {
		arrange(jobs)
		return jobs
	})
}

// before calls do before a good policy, which then decides only if do returns true.
func before(spec backfill.PolicySpec, name string, do func(*backfill.Cycle) bool) backfill.PolicySpec {
	build := spec.New
	spec.Name, spec.Doc = name, "is easy, but for something"
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		good, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			if do(c) {
				good.Decide(c)
			}
		}), err
	}
	return spec
}

// replans promises a start and then plans a later one.
func replans() backfill.PolicySpec {
	spec := conservative.Spec()
	build := spec.New
	spec.Name = "replans"
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		good, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			good.Decide(c)
			for _, j := range c.Fast().Planned() {
				start, at, _ := c.Reservation(j)
				c.Reserve(j, start+1000, at)
			}
		}), err
	}
	return spec
}

// refuses rejects its own defaults.
func refuses() backfill.PolicySpec {
	spec := easy.Spec()
	spec.Name = "refuses"
	spec.New = func(backfill.Values) (backfill.Policy, error) { return nil, errors.New("no") }
	return spec
}

// serveRaw serves a good policy without the sdk's precautions: depending on what, it describes
// itself wrongly, does not end with its host, ends only with the session, or does not encrypt.
func serveRaw(what string) {
	good := sdk.NewServer(easy.Spec(), hclog.NewNullLogger())
	var served policyv1.PolicyServiceServer
	switch what {
	case "orphan":
		served = good
	case "slow-to-begin":
		served = &slowToBegin{good}
	case "plain":
		served = &slowToBegin{good}
		_ = os.Unsetenv("PLUGIN_CLIENT_CERT")
	case "disorder":
		served = &disorder{good}
	default:
		served = &nonsense{good}
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake(),
		VersionedPlugins: wire.Versions(&raw{server: served}),
		GRPCServer:       plugin.DefaultGRPCServer,
		Logger:           hclog.NewNullLogger(),
	})
}

type nonsense struct{ policyv1.PolicyServiceServer }

func (*nonsense) Describe(context.Context, *policyv1.DescribeRequest) (*policyv1.DescribeResponse, error) {
	return &policyv1.DescribeResponse{Doc: "has no name"}, nil
}

// disorder names an order that there is not.
type disorder struct{ policyv1.PolicyServiceServer }

func (*disorder) Describe(context.Context, *policyv1.DescribeRequest) (*policyv1.DescribeResponse, error) {
	return &policyv1.DescribeResponse{Name: "disorder", Doc: "has an order of its own", Order: "tallest"}, nil
}

// slowToBegin ends with its session, if the session had begun.
type slowToBegin struct{ policyv1.PolicyServiceServer }

func (s *slowToBegin) Session(stream policyv1.PolicyService_SessionServer) error {
	time.Sleep(100 * time.Millisecond) //nolint:forbidigo // it is what is slow about it
	if stream.Context().Err() != nil {
		return nil
	}
	defer os.Exit(0)
	return s.PolicyServiceServer.Session(stream)
}

type raw struct {
	plugin.NetRPCUnsupportedPlugin
	server policyv1.PolicyServiceServer
}

func (r *raw) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	policyv1.RegisterPolicyServiceServer(s, r.server)
	return nil
}

func (*raw) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("this side serves")
}
