package observe

import (
	"context"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Submitted asks a schedd how many jobs were submitted to it since it started, for a short time. It
// may be called at any time: what a look read then is not needed.
func (s *Schedd) Submitted(ctx context.Context, sec *security.Client, within time.Duration) (int64, error) {
	return submitted(ctx, client.Schedd{Security: sec, Address: s.Address}, within)
}

func submitted(ctx context.Context, s client.Schedd, within time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return s.Submitted(ctx)
}
