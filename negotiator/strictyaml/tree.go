package strictyaml

import (
	"bytes"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Tree is a text whose mappings are read key by key. Aliases and merge keys are followed.
type Tree struct {
	// File is what [Parse] returns of the text.
	*ast.File

	decoder *yaml.Decoder // knows the anchors
	anchors map[string]ast.Node
}

// ParseTree returns the tree of a text that is a mapping, or empty.
func ParseTree(text []byte) (*Tree, error) {
	file, err := Parse(text)
	if err != nil {
		return nil, err
	}
	t := &Tree{file, yaml.NewDecoder(&bytes.Buffer{}, yaml.Strict()), map[string]ast.Node{}}
	if root := t.Root(); root != nil {
		ast.Walk(t, root)
		err = t.Decode(root, new(map[string]any))
	}
	return t, err
}

// Root is the mapping of the file; nil if it is empty.
func (t *Tree) Root() ast.Node {
	if len(t.Docs) == 0 {
		return nil
	}
	return t.Docs[0].Body
}

// Visit notes what an anchor names.
func (t *Tree) Visit(node ast.Node) ast.Visitor {
	if anchor, named := node.(*ast.AnchorNode); named {
		t.anchors[anchor.Name.GetToken().Value] = anchor.Value
	}
	return t
}

// Decode reads a node of the tree into a value, as the function [Decode] does.
func (t *Tree) Decode(node ast.Node, into any) error {
	if err := calm(func() error { return t.decoder.DecodeFromNode(node, into) }); err != nil {
		return plainly(err)
	}
	return whole(node, pointed(reflect.TypeOf(into)))
}

// Entries returns the entries of a mapping. Those that it merges from another one come first, so that
// its own replace them. It returns none if the node is no mapping.
func (t *Tree) Entries(node ast.Node) (all []*ast.MappingValueNode) {
	switch node := node.(type) {
	case *ast.AnchorNode:
		return t.Entries(node.Value)
	case *ast.AliasNode:
		return t.Entries(t.anchors[node.Value.GetToken().Value])
	case ast.MapNode:
		var own []*ast.MappingValueNode
		for entries := node.MapRange(); entries.Next(); {
			if entries.Key().IsMergeKey() {
				all = append(all, t.Entries(entries.Value())...)
			} else {
				own = append(own, entries.KeyValue())
			}
		}
		return append(all, own...)
	default:
		return nil
	}
}
