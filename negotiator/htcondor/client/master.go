package client

import (
	"context"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Commands of condor_master to its children's side.
const (
	childAlive = 60008
	setReady   = 60043
)

// Master is the condor_master that started us.
type Master struct {
	Security *security.Client
	Address  cedar.Address
	// Session is the one that it gave us; nil: another.
	Session *security.Key
}

// Alive says that this process lives, and from when on it counts as hung if it
// does not say so again.
func (m Master) Alive(ctx context.Context, pid int, until time.Duration) error {
	s, err := m.Security.Start(ctx, m.Address, childAlive, m.Session)
	if err != nil {
		return err
	}
	defer s.Close()
	s.PutInt(int64(pid))
	s.PutInt(int64(until / time.Second))
	s.PutReal(0) // how much of the time we waited for the lock of the log
	return s.Send()
}

// Ready says that the daemon does its work from now on.
func (m Master) Ready(ctx context.Context, pid int, name string) error {
	s, err := m.Security.Start(ctx, m.Address, setReady, m.Session)
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
