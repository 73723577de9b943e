package definition

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

const (
	// maxRepeated bounds what the aliases of a file repeat, in bytes. Without it, ten lines of aliases of aliases would be expanded
	// to more than fits into memory.
	maxRepeated = 1 << 20
	// nodeSize is what a node counts in addition to its text, since an empty list takes memory, too.
	nodeSize = 8
)

// repeats adds up what the aliases of a document repeat.
type repeats struct {
	// anchored are the expanded sizes of the anchors so far.
	anchored map[string]int
	total    int
	// line is where total became too large; 0 if it didn't.
	line int
}

// checkAliases refuses a document whose aliases repeat too much.
func checkAliases(document ast.Node) error {
	r := repeats{anchored: map[string]int{}}
	if r.size(document); r.line > 0 {
		return fmt.Errorf("line %d: the aliases up to here repeat more than %d bytes: use fewer of them", r.line, maxRepeated)
	}
	return nil
}

// size returns the expanded size of a node. It is at most a little more than maxRepeated for each node of the file, so that the
// sum doesn't overflow.
func (r *repeats) size(n ast.Node) int {
	size := nodeSize
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, value := range n.Values {
			size += r.size(value)
		}
	case *ast.MappingValueNode:
		size += r.size(n.Key) + r.size(n.Value)
	case *ast.MappingKeyNode:
		size += r.size(n.Value)
	case *ast.SequenceNode:
		for _, value := range n.Values {
			size += r.size(value)
		}
	case *ast.TagNode:
		size += r.size(n.Value)
	case *ast.LiteralNode:
		size += r.size(n.Value)
	case *ast.AnchorNode:
		size = r.size(n.Value)
		r.anchored[n.Name.GetToken().Value] = min(size, maxRepeated+1)
	case *ast.AliasNode:
		size = r.anchored[n.Value.GetToken().Value]
		if r.total += size; r.total > maxRepeated && r.line == 0 {
			r.line = n.GetToken().Position.Line
		}
	case nil:
	default:
		if token := n.GetToken(); token != nil {
			size += len(token.Value)
		}
	}
	return size
}
