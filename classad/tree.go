package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

// tree is the ad as a tree, which must not be changed.
func (ad *ClassAd) tree() *ast.Record { return &ad.attrs }

// fromTree makes an ad of a tree that nobody else changes.
func fromTree(r *ast.Record) *ClassAd { return &ClassAd{attrs: *r} }
