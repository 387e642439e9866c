package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
)

const collectorPort = "9618"

// collectorFile is the knob of the file in which the collector of this machine writes its address.
const collectorFile = "COLLECTOR_ADDRESS_FILE"

// Collectors returns the addresses of the pool's collectors, first those on the host that the
// configuration prefers. The port 0 stands for the one that [LocateCollector] finds.
func (s *Site) Collectors() ([]cedar.Address, error) {
	one, err := s.Settings.Collector()
	if err != nil {
		return nil, err
	}
	hosts := []string{one}
	if one == "" {
		hosts = s.Config.List("COLLECTOR_HOST")
	}
	if len(hosts) == 0 {
		return nil, errors.New("COLLECTOR_HOST is not set: which pool is it?")
	}
	var all []cedar.Address
	for _, host := range hosts {
		bare := strings.Trim(host, "<>")
		where, more, _ := strings.Cut(bare, "?")
		if _, _, err = net.SplitHostPort(where); err != nil {
			where = net.JoinHostPort(strings.Trim(where, "[]"), collectorPort)
		}
		if more != "" {
			where += "?" + more
		}
		a, err := cedar.ParseAddress("<" + where + ">")
		if err != nil {
			return nil, fmt.Errorf("COLLECTOR_HOST: %s: %w", host, err)
		}
		if a.Port == 0 && s.Config.Text(collectorFile) == "" {
			return nil, fmt.Errorf("COLLECTOR_HOST: %s: the port 0 stands for the one in the file %s, which is not set",
				host, collectorFile)
		}
		all = append(all, a)
	}
	if one == "" {
		preferHost(all, s.Config.Text("COLLECTOR_HOST_FOR_NEGOTIATOR"))
	}
	return all, nil
}

// preferHost puts the collectors on a host before the others, with which it has a name or an address in
// common. Hosts' names are looked up for at most 5 seconds, and only if there is a choice.
func preferHost(all []cedar.Address, host string) {
	if len(all) < 2 || host == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookUpPatience)
	defer cancel()
	lookUp := func(host string) []netip.Addr {
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil // it is on no host's list, then
		}
		for i, a := range found {
			found[i] = a.Unmap()
		}
		return found
	}
	var own []netip.Addr
	away := func(a cedar.Address) int {
		if strings.EqualFold(a.Host, host) {
			return 0
		}
		if own == nil {
			own = lookUp(host)
		}
		if slices.ContainsFunc(lookUp(a.Host), func(ip netip.Addr) bool { return slices.Contains(own, ip) }) {
			return 0
		}
		return 1
	}
	far := map[string]int{}
	for _, a := range all {
		if _, known := far[a.Host]; !known {
			far[a.Host] = away(a)
		}
	}
	slices.SortStableFunc(all, func(a, b cedar.Address) int { return far[a.Host] - far[b.Host] })
}

// lookUpPatience limits the time to look up hosts' names: condor_reconfig waits for it.
const lookUpPatience = 5 * time.Second

// LocateCollector returns the address that the collector of this machine has written into its file. It
// reads the file each time, since a collector that was restarted has another port.
func LocateCollector(c *condorconfig.Config) (cedar.Address, error) {
	file := c.Text(collectorFile)
	a, err := readAddressFile(file, os.Geteuid())
	if errors.Is(err, errUntrusted) { // we may be a user who asks, and not HTCondor's
		if owner, unknown := Owner(c.Text("CONDOR_IDS")); unknown == nil {
			a, err = readAddressFile(file, owner.UID)
		}
	}
	if err != nil {
		return a, fmt.Errorf("%s: %s: %w: has the collector been started?", collectorFile, file, err)
	}
	return a, nil
}
