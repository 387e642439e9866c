package classad

import (
	"time"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// host is what functions may learn from outside the ads. All of it comes from the [Scope]; nil knows nothing.
type host struct {
	now      func() int64
	zone     *time.Location
	random   func() float64
	userMap  func(mapName, user string) (string, bool)
	userHome func(user string) (string, bool)
	debug    func(line string)
}

// host is nil for a scope that has nothing but ads.
func (s Scope) host() *host {
	if s.Now == nil && s.Zone == nil && s.Random == nil && s.UserMap == nil && s.UserHome == nil && s.Debug == nil {
		return nil
	}
	return &host{
		now: s.Now, zone: s.Zone, random: s.Random, userMap: s.UserMap, userHome: s.UserHome, debug: s.Debug,
	}
}

// time is the clock in seconds since 1970, or undefined.
func (ev *evaluator) time() Value {
	if ev.host == nil || ev.host.now == nil {
		return undefined
	}
	return integer(ev.host.now())
}

// zone is the local time zone.
func (ev *evaluator) zone() *time.Location {
	if ev.host == nil || ev.host.zone == nil {
		return time.UTC
	}
	return ev.host.zone
}

// random is a number from 0 on and below 1, if there is a source of them.
func (ev *evaluator) random() (float64, bool) {
	if ev.host == nil || ev.host.random == nil {
		return 0, false
	}
	return ev.host.random(), true
}

func (ev *evaluator) userMap(mapName, user string) (string, bool) {
	if ev.host == nil || ev.host.userMap == nil {
		return "", false
	}
	return ev.host.userMap(mapName, user)
}

func (ev *evaluator) userHome(user string) (string, bool) {
	if ev.host == nil || ev.host.userHome == nil {
		return "", false
	}
	return ev.host.userHome(user)
}

// logger is where debug writes, or nil.
func (ev *evaluator) logger() func(line string) {
	if ev.host == nil {
		return nil
	}
	return ev.host.debug
}

// attribute gives the definition of an attribute of the ad in which the call stands; ads around it do not count.
func (c call) attribute(name string) (ast.Expr, bool) {
	return c.frame.ad.Find(ast.Fold(name))
}

// attributeOf evaluates an attribute of the ad v, as v["name"] does.
func (c call) attributeOf(v Value, name string) Value {
	return c.ev.subscript(v, text(name))
}

// definition is where a name leads: an expression in the ad where it was found, or that ad itself.
type definition struct {
	expr  ast.Expr
	frame *frame
}

// lookup finds what a name stands for in an ad and the ads around it, without evaluating it.
func (ev *evaluator) lookup(f *frame, key string) (definition, bool) {
	if e, ok := f.ad.Find(key); ok {
		return definition{e, f}, true
	}
	if v, ok := ev.special(f, key); ok {
		if ad, isAd := v.ref.(*frame); isAd {
			return definition{ad.ad, f}, true
		}
		return definition{v.literal(), f}, key != "parent"
	}
	for f = f.parent; f != nil; f = f.parent {
		if ad := f.bound(key); ad != nil {
			return definition{ad.ad, f}, true
		}
		if e, ok := f.ad.Find(key); ok {
			return definition{e, f}, true
		}
	}
	return definition{}, false
}
