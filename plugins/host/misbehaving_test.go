package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// trouble is the label of the job at whose arrival the misbehaving policies fail. Otherwise they
// are EASY.
const trouble = "trouble"

func isTrouble(r backfill.Round) bool {
	return slices.ContainsFunc(r.Events,
		func(e backfill.Event) bool { return e.Job != nil && e.Job.Labels[trouble] != "" })
}

const (
	// badWhen and badHow are environment variables that tell a process when and how to misbehave;
	// badMark is the file in which it records that it did, or that it ran once.
	badWhen, badHow, badMark = "TEST_BAD_WHEN", "TEST_BAD_HOW", "TEST_BAD_MARK"
	// mark is an environment variable of a test's plugins, and of everything that they start, by
	// which the process table finds them.
	mark = "TEST_MARK"
	// foreign is the argument that makes the tests' executable a plugin like one in another
	// language: it uses gRPC and does not notice the end of its host.
	foreign = "be-foreign"
)

// misbehaving returns policies that fail in the middle of a cycle, after they have acted on it.
func misbehaving() []backfill.PolicySpec {
	return []backfill.PolicySpec{
		failing("hanging", func(*backfill.Cycle) { select {} }),
		failing("panicking", func(*backfill.Cycle) { panic("on \xffpurpose") }),
		failing("inventing", func(c *backfill.Cycle) { c.Start(&backfill.Job{ID: 999_999}, nil) }),
		failing("promising", func(c *backfill.Cycle) {
			for j := range c.Queue() {
				c.Guarantee(j, c.Now()-1)
			}
		}),
		failing("repeating", func(c *backfill.Cycle) {
			for r := range c.Running() {
				c.Start(r.Job, r.Placement)
			}
		}),
		failing("oversubscribing", func(c *backfill.Cycle) {
			for j := range c.Queue() {
				c.Start(j, backfill.Placement{{Slot: 0, Count: j.Nodes}})
			}
			c.Wake(0) // in case all of them fitted
		}),
		bad(),
	}
}

func failing(name string, fail func(*backfill.Cycle)) backfill.PolicySpec {
	spec := easy.Spec()
	build := spec.New
	spec.Name = name
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		policy, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			policy.Decide(c)
			if isTrouble(c.Fast().Round()) {
				fail(c)
			}
		}), err
	}
	return spec
}

// bad returns a policy that misbehaves as its environment says: at the start, in Configure
// ("configure"), in Decide ("decide"), or after a restart at these points ("restart",
// "reconfigure", "resync").
func bad() backfill.PolicySpec {
	when := os.Getenv(badWhen)
	if strings.HasPrefix(when, "re") {
		if _, err := os.Stat(os.Getenv(badMark)); err != nil { // the first start
			when = "crash at decide"
			leaveMark()
		}
	}
	spec := failing("bad", func(*backfill.Cycle) {
		switch when {
		case "decide":
			misbehave()
		case "crash at decide":
			os.Exit(3)
		}
	})
	build := spec.New
	spec.New = func(v backfill.Values) (backfill.Policy, error) {
		if when == "configure" || when == "reconfigure" {
			misbehave()
		}
		policy, err := build(v)
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			if when == "resync" {
				misbehave()
			}
			policy.Decide(c)
		}), err
	}
	if len(os.Args) == 3 && os.Args[2] == "bad" && (when == "start" || when == "restart") {
		misbehave()
	}
	return spec
}

// hang blocks for ever. A select without cases would end a process that has no other goroutine,
// unless it uses cgo.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// misbehave misbehaves as the environment says.
func misbehave() {
	switch how := os.Getenv(badHow); how {
	case "crash":
		os.Exit(3)
	case "words":
		_, _ = fmt.Fprintln(os.NewFile(2, "stderr"), "I do not feel well") // go-plugin's would be lost
		os.Exit(4)
	case "hang":
		leaveMark()
		hang()
	case "garbage":
		garbage := append(bytes.Repeat([]byte("\x1b[2J\x00\xff\a\r"), 20_000),
			[]byte("\n{\"@message\":5,\"@level\":1}\nthe end of it\n")...)
		for _, to := range []*os.File{os.Stdout, os.Stderr, os.NewFile(1, "1"), os.NewFile(2, "2")} {
			_, _ = to.Write(garbage)
		}
	case "close":
		for fd := 3; fd < 100; fd++ {
			name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
			if strings.HasPrefix(name, "socket:") || strings.HasPrefix(name, "pipe:") {
				_ = syscall.Shutdown(fd, syscall.SHUT_RDWR)
				_ = syscall.Close(fd)
			}
		}
	case "fork":
		fork(false)
		fork(true)
		os.Exit(3)
	case "fork and stay":
		fork(false)
	case "escape and stay":
		fork(true)
	case "bomb":
		for range 400 { // as a bomb would for ever
			fork(false)
		}
	case "hidden bomb":
		for range 400 {
			fork(true)
		}
	case "stop":
		leaveMark()
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		hang()
	case "trace", "trace for ever":
		leaveMark()
		runtime.LockOSThread()
		for again := true; again; again = how == "trace for ever" {
			_, _, failed := syscall.Syscall(syscall.SYS_PTRACE, 0, 0, 0) // PTRACE_TRACEME
			fmt.Fprintln(os.Stderr, "traced:", failed == 0)
			runtime.Breakpoint() // if another signal came first, this ends it
		}
		hang()
	case "leave and hang":
		leaveGroup()
		leaveMark()
		hang()
	case "deaf":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		leaveMark()
	}
}

// fork starts a process that holds this process' outputs open.
func fork(escape bool) {
	cmd := exec.CommandContext(context.Background(), "sleep", "300")
	cmd.Stdout, cmd.Stderr = os.NewFile(1, "1"), os.NewFile(2, "2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: escape}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	_ = cmd.Process.Release() // its descriptor: open files shall not bound the processes
	leaveMark()
}

func leaveMark() {
	if mark := os.Getenv(badMark); mark != "" {
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			panic(err)
		}
	}
}

// beForeign serves a lying EASY with go-plugin alone, in two versions of the protocol at once.
func beForeign() {
	versions := wire.Versions(&served{})
	switch os.Getenv(badHow) {
	case "newer":
		versions[2] = versions[1]
	case "newest":
		versions = map[int]plugin.PluginSet{7: versions[1]}
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: wire.Handshake(), VersionedPlugins: versions,
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, grpc.StreamInterceptor(offerNothing))...)
		},
	})
	hang() // it ignores its host
}

// offerNothing creates a mark if the host asks for offers of further connections.
func offerNothing(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if info.FullMethod == "/plugin.GRPCBroker/StartStream" {
		leaveMark()
	}
	return handle(server, stream)
}

type served struct{ plugin.NetRPCUnsupportedPlugin }

func (*served) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	spec := easy.Spec()
	policyv1.RegisterPolicyServiceServer(s, liar{
		PolicyServiceServer: sdk.NewServer(spec, hclog.NewNullLogger()),
		lie: func(_ *policyv1.Decide, m *policyv1.PolicyMessage) {
			switch os.Getenv(badHow) {
			case "gigabyte":
				m.GetDecision().Journal = append(m.GetDecision().Journal,
					&policyv1.Action{Reason: strings.Repeat("no", 100<<20)})
			case "largest":
				m.GetDecision().Journal = append(m.GetDecision().Journal,
					&policyv1.Action{Reason: strings.Repeat("n", wire.MaxAnswer-1<<10)})
			case "crumbs":
				m.GetDecision().Journal = slices.Repeat([]*policyv1.Action{{}}, 1<<20+1)
			}
		},
	})
	return nil
}

func (*served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil //nolint:nilnil // never asked for
}
