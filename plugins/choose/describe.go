package choose

import (
	"context"
	"errors"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// Describe finds a policy as [Policy] does and says what it is, and at which path
// if it is a plugin, which is started for that and ended again.
func Describe(ctx context.Context, r Request) (spec backfill.Spec, path string, err error) {
	if r.Policy == "" {
		return backfill.Spec{}, "", errors.New("no policy is named")
	}
	path, found, err := host.Find(r.Policy, searchPath(r))
	if err != nil {
		return backfill.Spec{}, "", err
	}
	if !found {
		spec, err = policies.Named(r.Policy)
		return spec, "", err
	}
	file, err := r.permit(path)
	if err != nil {
		return backfill.Spec{}, "", err
	}
	options, err := r.options(file)
	if err != nil {
		return backfill.Spec{}, "", err
	}
	options.Policy = nil // what it is does not depend on them
	remote, err := host.Start(ctx, file.command, options)
	if err != nil {
		return backfill.Spec{}, "", err
	}
	defer remote.Close()
	return remote.Spec(), path, nil
}
