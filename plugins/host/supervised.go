package host

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// linger is how long the pipes of an ended process are still read. Processes that it started, and
// that left its group, may hold the pipes open for ever.
const linger = time.Second

// supervised is a plugin's process, as go-plugin's runner. It applies the limits to the process and
// the processes that it starts, reads their output, and ends them together.
type supervised struct {
	cmd     *exec.Cmd
	cell    *cell
	memory  int64 // bytes; 0: unlimited
	most    int   // processes and threads; negative: unlimited
	log     hclog.Logger
	remains *remains

	hello            io.ReadCloser // the line of the handshake, for go-plugin
	network, address string        // where it listens
	inflow           *inflow       // of the connections to it
	errorOutput      *printer      // its standard error

	life    context.Context // ends with the process, or when that is left behind
	end     context.CancelFunc
	drained chan struct{} // closed when all output has been read
	settled chan struct{} // closed when the handshake has succeeded or failed
	exit    error         // how the process ended

	mu      sync.Mutex
	running bool
	killing bool  // must be killed, perhaps before it runs
	left    bool  // it was killed and did not end
	refused error // why the handshake failed
}

func newSupervised(cmd *exec.Cmd, cell *cell, options Options, log hclog.Logger) *supervised {
	c := &supervised{
		cmd: cmd, cell: cell, memory: options.Memory, most: options.Processes, log: log,
		remains: cmp.Or(options.remains, new(remains)),
		inflow:  newInflow(), errorOutput: newPrinter(log), drained: make(chan struct{}), settled: make(chan struct{}),
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Start starts the process.
func (c *supervised) Start(context.Context) error {
	stdout, stdoutEnd, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	stderr, stderrEnd, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("make a pipe: %w", err), stdout.Close(), stdoutEnd.Close())
	}
	hello, forward := io.Pipe()
	c.hello, c.cmd.Stdout, c.cmd.Stderr = hello, stdoutEnd, stderrEnd
	var reading sync.WaitGroup
	output := &pace{log: c.log, ended: c.life.Done()}
	reading.Go(func() { c.errorOutput.drain(output.limit(stderr)) })
	reading.Go(func() { c.listen(output.limit(stdout), forward) })
	started := make(chan error)
	go func() {
		c.run(started)
		late := time.AfterFunc(linger, func() { _, _ = stdout.Close(), stderr.Close() })
		reading.Wait()
		late.Stop()
		_, _ = stdout.Close(), stderr.Close()
		close(c.drained)
	}()
	if err = <-started; err != nil {
		c.refuse(err)
	}
	_, _ = stdoutEnd.Close(), stderrEnd.Close()
	return err
}

// run starts the process and waits for its end on a single thread, because Linux ends the process
// with the thread that started it.
func (c *supervised) run(started chan<- error) {
	defer c.end()
	onOwnThread(func() {
		endGuard, err := c.begin()
		if started <- err; err != nil {
			return
		}
		c.exit = await(c.cmd)
		c.mu.Lock()
		c.running = false
		killGroup(c.cmd.Process) // processes that it left behind
		c.mu.Unlock()
		endGuard()
	})
}

// begin starts the process within its limits, and a guard: a process that ends it if the host is
// killed. endGuard ends the guard.
func (c *supervised) begin() (endGuard func(), err error) {
	if err = c.cell.start(c.cmd); err != nil {
		return nil, err
	}
	lacking, err := limit(c.cell.who, c.cmd.Process.Pid, c.memory, c.most)
	if err != nil {
		killGroup(c.cmd.Process)
		_ = c.cmd.Wait() // it was killed
		return nil, hostError{fmt.Errorf("limit its memory (plugins.memory; give the daemon CAP_SYS_RESOURCE, "+
			"or set no such limit): %w", err)}
	}
	if lacking != nil {
		c.log.Warn("the policy plugin runs without some of the limits that protect the machine", "error", lacking)
	}
	if endGuard, err = startGuard(c.cmd, c.cell.dir); err != nil {
		killGroup(c.cmd.Process)
		_ = c.cmd.Wait() // it was killed
		return nil, hostError{err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running = true; c.killing {
		killGroup(c.cmd.Process)
	}
	if c.most > 0 {
		go c.watch()
	}
	return endGuard, nil
}

// watch ends the process and what it started if there are too many processes and threads in its
// group. Those that left the group are not counted.
func (c *supervised) watch() {
	const pause = 100 * time.Millisecond // a process that does nothing else starts some hundred others
	tick := time.NewTicker(pause)
	defer tick.Stop()
	counted := crowd{group: c.cmd.Process.Pid}
	for {
		select {
		case <-c.life.Done():
			return
		case now := <-tick.C:
			if size := counted.size(c.most, now); size > c.most {
				c.log.Error("the policy plugin is ended: it has more processes and threads than it may",
					"has", size, "limit", c.most)
				c.kill()
				return
			}
		}
	}
}

// kill kills the process and what it started, now or as soon as it has started.
func (c *supervised) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killing = true; c.running {
		killGroup(c.cmd.Process)
	}
}

// listen passes the line of the handshake to go-plugin and the rest of the standard output to the
// log.
func (c *supervised) listen(stdout io.Reader, hello *io.PipeWriter) {
	in := bufio.NewReaderSize(stdout, maxLine)
	line, err := in.ReadSlice('\n')
	switch {
	case err != nil && len(line) == 0:
		err = errSilent
	case errors.Is(err, bufio.ErrBufferFull):
		err = fmt.Errorf("it printed %.80q… instead of a handshake", line)
	default:
		err = wire.CheckHello(string(line))
	}
	if err == nil {
		_, _ = hello.Write(line)
	} else {
		c.refuse(err)
		_ = hello.Close() // ends go-plugin's wait
	}
	newPrinter(c.log).drain(in)
	_ = hello.Close()
}

// refuse records the first reason why the handshake failed.
func (c *supervised) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = cmp.Or(c.refused, err)
}

// errSilent says that a process ended without a handshake.
var errSilent = errors.New("it ended without a handshake")

// refusal returns why the handshake failed; nil if that was not the process' fault. Unless the
// reason is [wire.ErrMismatch], the process has ended when it returns, if need be because refusal
// killed it, or is left behind.
func (c *supervised) refusal() error {
	c.mu.Lock()
	refused := c.refused
	c.mu.Unlock()
	if refused == nil || errors.Is(refused, wire.ErrMismatch) {
		return refused
	}
	silent := errors.Is(refused, errSilent)
	if !silent { // it may run for ever
		c.kill()
	}
	select { // the process is ending
	case <-c.drained:
	case <-time.After(linger):
		c.kill()
		if !endsIn(2*grace, func() { <-c.drained }) {
			c.leaveBehind()
			return refused
		}
	}
	words := c.errorOutput.words()
	if strings.Contains(words, "This binary is a plugin") { // every go-plugin binary says so
		return fmt.Errorf("it is a plugin of another program, with another magic cookie: %w", wire.ErrMismatch)
	}
	if _, why, own := strings.Cut(words, wire.Unservable); own {
		return unservable(why)
	}
	if c.cell.holds.Files && strings.Contains(words, "ermission denied") {
		words += " (a plugin reaches its own files, and what plugins.reads names: BACKFILL_PLUGIN_READS)"
	}
	if silent && c.exit != nil {
		refused = fmt.Errorf("%w: %w", refused, c.exit)
	}
	switch {
	case words != "":
		refused = fmt.Errorf("%w; it said: %s", refused, words)
	case silent && c.exit == nil:
		refused = fmt.Errorf("%w: its main must call sdk.Serve", refused)
	}
	return refused
}

// leaveBehind gives up waiting for the end of a process that was killed.
func (c *supervised) leaveBehind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return
	}
	c.left = true
	c.end() // nobody watches it or speaks to it any more
	c.log.Error("the policy plugin was killed and does not end; it is left behind", "pid", c.pid())
	c.remains.processes.Add(1)
}

// isLeft reports whether the process is left behind.
func (c *supervised) isLeft() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// fate returns an error with how the process ended; the error alone if the process goes on.
func (c *supervised) fate(err error) error {
	select {
	case <-c.drained:
	case <-time.After(linger / 10):
		return err
	}
	if c.exit != nil {
		err = fmt.Errorf("%w: %w", err, c.exit)
	}
	if crash := c.errorOutput.crash(); crash != "" {
		err = fmt.Errorf("%w; it said: %s", err, crash)
	}
	return err
}

// dial connects to the process. The connection is closed when the process ends, even if another
// process holds the socket.
func (c *supervised) dial(ctx context.Context, _ string) (net.Conn, error) {
	if c.life.Err() != nil {
		return nil, net.ErrClosed
	}
	conn, err := c.cell.dial(ctx, c.network, c.address)
	if err != nil {
		return nil, err
	}
	conn = c.inflow.limit(conn)
	context.AfterFunc(c.life, func() { _ = conn.Close() })
	return conn, nil
}

// Wait waits for the end of the process and of the handshake.
func (c *supervised) Wait(context.Context) error {
	<-c.drained
	<-c.settled
	return c.exit
}

// Kill kills the process.
func (c *supervised) Kill(context.Context) error {
	c.kill()
	return nil
}

// Stdout returns the reader of the handshake's line.
func (c *supervised) Stdout() io.ReadCloser { return c.hello }

// Stderr returns an empty reader, because go-plugin would trust what a plugin writes there.
func (c *supervised) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name returns the path of the executable.
func (c *supervised) Name() string { return c.cmd.Args[0] }

// ID returns the process ID.
func (c *supervised) ID() string { return strconv.Itoa(c.pid()) }

func (c *supervised) pid() int {
	if c.cmd.Process == nil {
		return 0
	}
	return c.cmd.Process.Pid
}

// Diagnose returns nothing.
func (c *supervised) Diagnose(context.Context) string { return "" }

// PluginToHost records where the process listens and returns it unchanged.
func (c *supervised) PluginToHost(network, address string) (string, string, error) {
	c.network, c.address = network, address
	return network, address, nil
}

// HostToPlugin returns addresses unchanged, because both sides are on one machine.
func (c *supervised) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
