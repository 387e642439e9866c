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
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/plugins/internal/wire"
)

// linger is how long the pipes of a process that has ended are still read: what
// it started and let go may hold them open for ever.
const linger = time.Second

// supervised is the operating system's side of a plugin, as go-plugin's runner. It
// holds the process and what that starts to the limits, reads what they print,
// and ends them together.
type supervised struct {
	cmd    *exec.Cmd
	dir    string // removed if the host is killed
	memory int64  // bytes; 0: unlimited
	log    hclog.Logger

	hello            io.ReadCloser // the line of the handshake, for go-plugin
	network, address string        // where it listens
	said             *printer      // its standard error

	life    context.Context // ends with the process
	end     context.CancelFunc
	drained chan struct{} // closed when nothing that it printed is left
	settled chan struct{} // closed when hands are shaken or will not be
	exit    error         // of a process that has ended

	mu      sync.Mutex
	running bool
	doomed  bool  // to be killed, perhaps before it runs
	refused error // why hands are not shaken
}

func newSupervised(cmd *exec.Cmd, dir string, memory int64, log hclog.Logger) *supervised {
	c := &supervised{cmd: cmd, dir: dir, memory: memory, log: log, said: newPrinter(log), drained: make(chan struct{}), settled: make(chan struct{})}
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
	reading.Go(func() { c.said.drain(stderr) })
	reading.Go(func() { c.listen(stdout, forward) })
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

// run starts the process and waits for its end, on one thread: Linux ends the
// process with the thread that started it.
func (c *supervised) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer c.end()
	buryGuard, err := c.begin()
	if started <- err; err != nil {
		return
	}
	c.exit = c.cmd.Wait()
	c.mu.Lock()
	c.running = false
	killGroup(c.cmd.Process) // what it has left behind
	c.mu.Unlock()
	buryGuard()
}

// begin starts the process within its limits, and its guard, which is to be
// buried when it was killed.
func (c *supervised) begin() (buryGuard func(), err error) {
	ownGroup(c.cmd)
	if err = c.cmd.Start(); err != nil {
		return nil, err
	}
	if err = limit(c.cmd.Process.Pid, c.memory); err != nil {
		killGroup(c.cmd.Process)
		_ = c.cmd.Wait() // it was killed
		return nil, fmt.Errorf("limit its memory: %w", err)
	}
	if buryGuard, err = startGuard(c.cmd.Process.Pid, c.dir); err != nil {
		c.log.Warn("what the policy plugin starts will outlive a host that is killed", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running = true; c.doomed {
		killGroup(c.cmd.Process)
	}
	return buryGuard, nil
}

// kill ends the process and what it started, now or as soon as it has started.
func (c *supervised) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doomed = true; c.running {
		killGroup(c.cmd.Process)
	}
}

// listen gives the line of the handshake to go-plugin, and what else comes over
// the standard output to the log.
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

// refuse keeps the first reason why hands are not shaken.
func (c *supervised) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = cmp.Or(c.refused, err)
}

// errSilent says that a process shook no hands.
var errSilent = errors.New("it ended without a handshake")

// refusal says why hands were not shaken, if the process is to blame, and ends
// it.
func (c *supervised) refusal() error {
	c.mu.Lock()
	refused := c.refused
	c.mu.Unlock()
	if refused == nil || errors.Is(refused, wire.ErrMismatch) {
		return refused
	}
	silent := errors.Is(refused, errSilent)
	if !silent { // it may go on for ever
		c.kill()
	}
	select { // it is ending
	case <-c.drained:
	case <-time.After(linger):
		c.kill()
		<-c.drained
	}
	words := c.said.words()
	if strings.Contains(words, "This binary is a plugin") { // as all say that are built with go-plugin
		return fmt.Errorf("it is a plugin of another program, with another magic cookie: %w", wire.ErrMismatch)
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

// fate adds to an error how the process ended, if it did.
func (c *supervised) fate(err error) error {
	select {
	case <-c.drained:
	case <-time.After(linger / 10):
		return err
	}
	if c.exit != nil {
		err = fmt.Errorf("%w: %w", err, c.exit)
	}
	if crash := c.said.crash(); crash != "" {
		err = fmt.Errorf("%w; it said: %s", err, crash)
	}
	return err
}

// dial connects to the process. The connection ends with it, whoever else holds
// the socket.
func (c *supervised) dial(ctx context.Context, _ string) (net.Conn, error) {
	if c.life.Err() != nil {
		return nil, net.ErrClosed
	}
	conn, err := new(net.Dialer).DialContext(ctx, c.network, c.address)
	if err == nil {
		context.AfterFunc(c.life, func() { _ = conn.Close() })
	}
	return conn, err
}

// Wait waits for the end of the process, and until nobody shakes hands any more.
func (c *supervised) Wait(context.Context) error {
	<-c.drained
	<-c.settled
	return c.exit
}

// Kill ends the process.
func (c *supervised) Kill(context.Context) error {
	c.kill()
	return nil
}

// Stdout is where the handshake is read.
func (c *supervised) Stdout() io.ReadCloser { return c.hello }

// Stderr is empty: go-plugin would trust what a plugin writes there.
func (c *supervised) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the executable's.
func (c *supervised) Name() string { return c.cmd.Path }

// ID is the process's.
func (c *supervised) ID() string { return strconv.Itoa(c.pid()) }

func (c *supervised) pid() int {
	if c.cmd.Process == nil {
		return 0
	}
	return c.cmd.Process.Pid
}

// Diagnose has nothing to add.
func (c *supervised) Diagnose(context.Context) string { return "" }

// PluginToHost is told where the process listens.
func (c *supervised) PluginToHost(network, address string) (string, string, error) {
	c.network, c.address = network, address
	return network, address, nil
}

// HostToPlugin leaves addresses as they are: both sides are on one machine.
func (c *supervised) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
