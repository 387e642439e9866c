package check

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/condor-backfill/condor-backfill/plugins/host"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// probe talks to a plugin by the bare protocol, without supervision: for plugins that the host
// would refuse to start, and to see what a plugin does when its host is killed.
type probe struct {
	description *policyv1.DescribeResponse
	conn        *grpc.ClientConn
	stdout      io.Closer
	process     *host.Bare
}

// startTimeout limits the time in which a plugin must start and open a session.
const startTimeout = 10 * time.Second

// maxHello is the maximum length of the line with which a plugin says where it serves.
const maxHello = 64 << 10

// dial starts the plugin, asks it to describe itself and opens a session.
func (c *checker) dial(ctx context.Context) (p *probe, err error) {
	p = &probe{}
	if p.process, err = host.NewBare(c.command.Path, c.running()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stdout, err := p.run(c.processOf(p.process.Dir()))
	if err != nil {
		p.process.Remove()
		return nil, err
	}
	stop := context.AfterFunc(ctx, p.process.Kill)
	defer stop()
	silence := context.AfterFunc(ctx, func() { _ = stdout.Close() }) // a process that it started may hold it open
	defer silence()
	if err = p.talk(ctx, stdout); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// processOf returns the plugin's command, with the environment that it needs to serve.
func (c *checker) processOf(dir string) *exec.Cmd {
	c.tail.clear()
	handshake := wire.Handshake()
	cmd := exec.Command(c.command.Path, c.command.Args...)
	cmd.Env = append(append(host.Environment(nil), c.command.Env...), handshake.MagicCookieKey+"="+handshake.MagicCookieValue,
		fmt.Sprintf("PLUGIN_PROTOCOL_VERSIONS=%d", wire.Version), plugin.EnvUnixSocketDir+"="+dir)
	cmd.Stderr = &c.tail
	cmd.WaitDelay = time.Second // for processes that it leaves behind with its pipes
	return cmd
}

// run starts the process, waits for its end in the background, and returns the reader of its
// standard output.
func (p *probe) run(cmd *exec.Cmd) (*os.File, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, p.stdout = theirs, ours
	err = p.process.Start(cmd)
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		return nil, err
	}
	return ours, nil
}

func (p *probe) talk(ctx context.Context, stdout io.Reader) error {
	line, err := bufio.NewReader(io.LimitReader(stdout, maxHello)).ReadString('\n')
	if err != nil {
		return errors.New("it ended before it said where it serves")
	}
	if err = wire.CheckHello(line); err != nil {
		return err
	}
	fields := strings.Split(strings.TrimSpace(line), "|")
	p.conn, err = grpc.NewClient("passthrough:///plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return p.process.Dial(ctx, fields[2], fields[3])
		}))
	if err != nil {
		return err
	}
	service := policyv1.NewPolicyServiceClient(p.conn)
	if p.description, err = service.Describe(ctx, &policyv1.DescribeRequest{}); err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	// The session lasts until the connection ends.
	session, err := service.Session(context.WithoutCancel(ctx))
	if err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	configure := &policyv1.HostMessage{Message: &policyv1.HostMessage_Configure{Configure: &policyv1.Configure{}}}
	if err = session.Send(configure); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	_, _ = session.Recv() // the session has begun; another check asks whether it accepts its options
	return nil
}

// vanish cuts the connection, as the death of a host does. It reports whether the plugin ended in
// time.
func (p *probe) vanish(ctx context.Context, patience time.Duration) bool {
	p.hangUp()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-p.process.Ended():
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *probe) hangUp() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	_ = p.stdout.Close()
}

// close kills the process.
func (p *probe) close() {
	p.process.Kill()
	p.hangUp()
	<-p.process.Ended()
	p.process.Remove()
}
