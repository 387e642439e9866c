package client

import (
	"context"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Commands that condor_master's children send to it.
const (
	childAlive = 60008
	setReady   = 60043
)

// Master is the condor_master that started us.
type Master struct {
	Security *security.Client
	// Address returns its present address.
	Address func() cedar.Address
	// Session is the session that it gave us; if nil, another one is used.
	Session *security.Key
}

// Alive tells condor_master that this process is alive, and that it counts as hung if until passes
// without another Alive.
func (m Master) Alive(ctx context.Context, pid int, until time.Duration) error {
	s, err := m.Security.Start(ctx, m.Address(), childAlive, m.Session)
	if err != nil {
		return err
	}
	defer s.Close()
	s.PutInt(int64(pid))
	s.PutInt(int64(until / time.Second))
	s.PutReal(0) // the fraction of time spent waiting for the log's lock
	return s.Send()
}

// Ready tells condor_master that the daemon does its work from now on.
func (m Master) Ready(ctx context.Context, pid int, name string) error {
	s, err := m.Security.Start(ctx, m.Address(), setReady, m.Session)
	if err != nil {
		return err
	}
	defer s.Close()
	ad := classad.New()
	ad.SetInt("DaemonPID", int64(pid))
	ad.SetString("DaemonName", name)
	ad.SetString("DaemonState", "Ready")
	s.PutAd(ad)
	return s.Send()
}
