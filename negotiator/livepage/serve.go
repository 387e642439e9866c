package livepage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// mostConnections is how many connections there may be at a time.
const mostConnections = 320

// Serve answers HTTP requests at an address until the context ends. It returns as soon as it listens, or
// cannot; wait ends the service and returns when it has ended.
func Serve(ctx context.Context, address string, handler http.Handler, log hclog.Logger) (url string, wait func(), err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w; beside another negotiator, give --http another port", err)
		}
		return "", nil, fmt.Errorf("open the port for HTTP: %w", err)
	}
	s := &http.Server{
		Handler:           handler,
		ConnContext:       server.WithGuest,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		MaxHeaderBytes: 16 << 10, DisableGeneralOptionsHandler: true,
		ErrorLog: log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	s.SetKeepAlivesEnabled(false) // whoever asks without end would keep its place, and others out
	done := make(chan struct{})
	go func() {
		defer close(done)
		limited := server.NewPlaces(listener, mostConnections, log)
		if err := s.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the port for HTTP is closed", "error", err)
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	return "http://" + listener.Addr().String(), func() {
		if stop() {
			_ = s.Close()
		}
		<-done
	}, nil
}
