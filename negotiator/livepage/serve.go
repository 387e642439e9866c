package livepage

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
)

// MostConnections is how many connections there may be at a time, besides those of viewers who are
// told of differences.
const MostConnections = 64

// Serve answers HTTP requests of those who may look until the context ends. It returns as soon as it
// listens, or cannot; wait ends the service and returns when it has ended. An address that access
// refuses is not listened at.
func Serve(
	ctx context.Context, who access.Options, handler http.Handler, log hclog.Logger,
) (url string, wait func(), err error) {
	who.Known, who.Logger = server.Vouch, log
	guard, err := access.New(ctx, who)
	if err != nil {
		return "", nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", who.Address)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w; beside another negotiator, give --http another port", err)
		}
		return "", nil, fmt.Errorf("open the port for HTTP: %w", err)
	}
	s := &http.Server{
		Handler:           guard.Guarded(handler),
		ConnContext:       server.WithGuest,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		MaxHeaderBytes: 16 << 10, DisableGeneralOptionsHandler: true,
		ErrorLog: log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	s.SetKeepAlivesEnabled(false) // whoever asks without end would keep its place, and others out
	done := make(chan struct{})
	go func() {
		defer close(done)
		var limited net.Listener = server.NewPlaces(listener, MostConnections, log)
		if encryption := guard.TLS(); encryption != nil {
			limited = tls.NewListener(limited, encryption)
		}
		if err := s.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the port for HTTP is closed", "error", err)
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	return guard.URL(listener.Addr()), func() {
		if stop() {
			_ = s.Close()
		}
		<-done
	}, nil
}
