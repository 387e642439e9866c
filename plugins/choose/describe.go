package choose

import (
	"context"
	"errors"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// Describe finds a policy as [Policy] does and returns its description and, for a plugin, its path.
// A plugin is started for this and stopped again.
func Describe(ctx context.Context, r Request) (spec backfill.PolicySpec, path string, err error) {
	if r.Policy == "" {
		return backfill.PolicySpec{}, "", errors.New("no policy is named")
	}
	path, found, err := host.Find(r.Policy, searchPath(r))
	if err != nil {
		return backfill.PolicySpec{}, "", err
	}
	if !found {
		spec, err = policies.Named(r.Policy, r.Others...)
		return spec, "", err
	}
	file, err := r.permit(path)
	if err != nil {
		return backfill.PolicySpec{}, "", err
	}
	options, err := r.options(file)
	if err != nil {
		return backfill.PolicySpec{}, "", err
	}
	options.Policy = nil // the description does not depend on them
	remote, err := host.Start(ctx, file.command, options)
	if err != nil {
		return backfill.PolicySpec{}, "", err
	}
	defer remote.Close()
	return remote.Spec(), path, nil
}
