package security

import (
	"crypto/ecdh"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/internal/tape"
)

type frame = tape.Frame

func newTape(t *testing.T, us string, frames []frame) *tape.Tape {
	t.Helper()
	return tape.New(t, us, "127.0.0.1:9718", frames)
}

func mustECDH(t *testing.T) *ecdh.PrivateKey {
	t.Helper()
	key, err := newECDH(nil)
	require.NoError(t, err)
	return key
}
