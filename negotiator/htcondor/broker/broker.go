package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// ReverseConnect is the command by which a daemon that a broker told to connects to us. request asks
// the broker for that.
const (
	ReverseConnect = 69
	request        = 68
)

// mostBrokers is how many of a daemon's brokers are asked, one after another. A daemon has as many
// as its pool has collectors.
const mostBrokers = 4

// Reverse has a daemon that is behind brokers connect to us, and returns the connection, on which
// the client's side is ours. It asks the brokers through a client, which limits how long each may
// take.
func (c *Callbacks) Reverse(ctx context.Context, through *security.Client, a cedar.Address) (net.Conn, error) {
	var failed []error
	for _, text := range a.Brokers[:min(len(a.Brokers), mostBrokers)] {
		conn, err := c.ask(ctx, through, text)
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failed...)
}

// ask asks one broker, and waits for the daemon.
func (c *Callbacks) ask(ctx context.Context, through *security.Client, text string) (net.Conn, error) {
	contact, err := cedar.ParseContact(text)
	if err != nil {
		return nil, err
	}
	if len(contact.Broker.Brokers) > 0 {
		return nil, fmt.Errorf("broker %v is behind another one: have the daemon advertise one that can be reached", contact.Broker)
	}
	patience := through.Silence()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	awaited, err := c.await(placeOf(contact.Broker))
	if err != nil {
		return nil, err
	}
	defer func() {
		if late := c.forget(awaited); late != nil {
			_ = late.Close()
		}
	}()
	s, err := through.Start(ctx, contact.Broker, request, nil)
	if err != nil {
		return nil, fmt.Errorf("its broker cannot be asked (is it up, and may this negotiator READ there?): %w", err)
	}
	s.PutAd(c.wish(contact, awaited.id))
	if err = s.Send(); err != nil {
		s.Close()
		return nil, fmt.Errorf("its broker %v hangs up: %w", contact.Broker, err)
	}
	answered := make(chan error, 1)
	go func() {
		defer close(answered)
		answered <- c.answer(s, contact)
	}()
	conn, err := c.wait(ctx, awaited, answered, contact, patience)
	s.Close()
	for range answered { // it ends now, and nobody needs what it says
	}
	return conn, err
}

// wish is what a broker is asked for.
func (c *Callbacks) wish(contact cedar.Contact, id string) *classad.ClassAd {
	ad := classad.New()
	ad.SetString("CCBID", contact.ID)
	ad.SetString("ClaimId", id)
	ad.SetString("Name", strings.TrimSpace(c.Name+" "+c.Address))
	ad.SetString("MyAddress", c.Address)
	return ad
}

// wait waits for the daemon, unless its broker says first that it does not come.
func (c *Callbacks) wait(
	ctx context.Context, awaited *awaited, answered <-chan error, contact cedar.Contact, patience time.Duration,
) (net.Conn, error) {
	for {
		select {
		case called, good := <-awaited.calls:
			if !good {
				return nil, fmt.Errorf("it connects, and says more than it should: what is it, behind its broker %v?", contact.Broker)
			}
			return called, nil
		case err := <-answered:
			answered = nil
			if err == nil {
				continue
			}
			if conn := c.forget(awaited); conn != nil { // it came as well
				return conn, nil
			}
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("asked by its broker %v to connect to %s, it did not within %v: open a way there "+
				"from where it is: %w", contact.Broker, c.Address, patience, ctx.Err())
		}
	}
}

// answer reads a broker's answer: an error says why the daemon does not come.
func (c *Callbacks) answer(s *cedar.Stream, contact cedar.Contact) error {
	ad, err := s.Ad()
	if err != nil {
		return fmt.Errorf("its broker %v hangs up, and tells no reason: %w", contact.Broker, err)
	}
	if comes, _ := ad.Literal("Result").Bool(); comes {
		return nil
	}
	reason, _ := ad.Literal("ErrorString").Text()
	advice := "open a way from where it is to " + c.Address
	if strings.Contains(reason, "registered") {
		advice = "it should connect to its broker again within a minute (CCB_RECONNECT_TIME)"
	}
	return fmt.Errorf("its broker %v says %.200q: %s", contact.Broker, reason, advice)
}

// placeOf returns the host and port of a broker.
func placeOf(a cedar.Address) string { return cedar.Address{Host: a.Host, Port: a.Port}.String() }
