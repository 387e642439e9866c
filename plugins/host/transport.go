package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// transport carries the messages of one session and returns the number of bytes of each.
type transport interface {
	send(m *policyv1.HostMessage) (int, error)
	receive() (*policyv1.PolicyMessage, int, error)
	// cut closes the session, which also ends a waiting send or receive.
	cut()
}

// rpc is a session over gRPC.
type rpc struct {
	stream policyv1.PolicyService_SessionClient
	cancel context.CancelFunc
}

// openRPC starts an rpc that outlives ctx.
func openRPC(ctx context.Context, service policyv1.PolicyServiceClient) (*rpc, error) {
	streaming, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stream, err := service.Session(streaming)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("open a session: %w", plain(err))
	}
	return &rpc{stream, cancel}, nil
}

func (r *rpc) send(m *policyv1.HostMessage) (int, error) {
	err := r.stream.Send(m)
	if err != nil && !errors.Is(err, io.EOF) { // receive returns the error behind io.EOF
		return 0, plain(err)
	}
	return proto.Size(m), nil
}

func (r *rpc) receive() (*policyv1.PolicyMessage, int, error) {
	m, err := r.stream.Recv()
	switch {
	case errors.Is(err, io.EOF):
		return nil, 0, errors.New("the plugin ended it")
	case err != nil:
		return nil, 0, plain(err)
	}
	return m, proto.Size(m), nil
}

func (r *rpc) cut() { r.cancel() }

// plain returns a gRPC error without its code. The text may come from the plugin.
func plain(err error) error {
	return errors.New(brief(status.Convert(err).Message()))
}

// noBroker keeps go-plugin from opening the stream on which plugins offer further connections: none
// is ever accepted, and each offer costs a goroutine for seconds.
func noBroker(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if method == "/plugin.GRPCBroker/StartStream" {
		return nil, status.Error(codes.Unimplemented, "it is not needed")
	}
	return open(ctx, desc, conn, method, options...)
}

// codec is gRPC's own codec with a check of answers before they are decoded.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(grpcproto.Name)} }

func (c codec) Unmarshal(data mem.BufferSlice, m any) error {
	if _, answer := m.(*policyv1.PolicyMessage); answer {
		if err := wire.CheckAnswer(data.Len(), data.Materialize); err != nil {
			return err
		}
	}
	return c.CodecV2.Unmarshal(data, m)
}

// piped is a session over inherited pipes.
type piped struct {
	*wire.Channel
	ends io.Closer
}

func newPiped(ends io.ReadWriteCloser) *piped {
	return &piped{wire.NewChannel(ends, wire.MaxAnswer), ends}
}

func (p *piped) send(m *policyv1.HostMessage) (int, error) { return p.Send(m) }

func (p *piped) receive() (*policyv1.PolicyMessage, int, error) {
	m := &policyv1.PolicyMessage{}
	n, err := p.Receive(m)
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
		err = errors.New("the plugin ended it, or its process died")
	}
	return m, n, err
}

func (p *piped) cut() { _ = p.ends.Close() }
