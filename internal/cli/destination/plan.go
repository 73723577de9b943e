package destination

import (
	"encoding/json"
	"fmt"
	"io"

	"holdfast/delivery/declared"
	"holdfast/internal/cli"
)

const (
	kindDestination  = declared.KindDestination
	kindSubscription = declared.KindSubscription
)

// WritePlan prints what a plan changes.
func WritePlan(w io.Writer, p declared.Plan) error {
	marks := map[declared.Op]string{declared.Create: "+", declared.Edit: "~", declared.Delete: "-"}
	for _, c := range p.Changes {
		fmt.Fprintln(w, cli.Printable(marks[c.Op]+" "+c.Kind+" "+c.Name)+cancels(c))
		for _, f := range c.Fields {
			value := string(f.New)
			if c.Op == declared.Edit {
				value = leaf(f.Old) + " → " + leaf(f.New)
			}
			fmt.Fprintf(w, "    %s: %s\n", cli.Printable(f.Field), cli.Printable(value))
		}
		writeWarnings(w, "    ", c.Warnings)
	}
	const most = 10
	for _, name := range p.Left[:min(len(p.Left), most)] {
		fmt.Fprintf(w, "  %s is not in the file and stays (--prune deletes it)\n", cli.Printable(name))
	}
	if more := len(p.Left) - most; more > 0 {
		fmt.Fprintf(w, "  … and %d more\n", more)
	}
	_, err := fmt.Fprintf(w, "%d to create, %d to change, %d to delete, %d unchanged\n",
		p.Count(declared.Create), p.Count(declared.Edit), p.Count(declared.Delete), p.Same)
	return err
}

// cancels describes what deleting a subscription does to its deliveries.
func cancels(c declared.Change) string {
	if c.Canceled == 0 {
		return ""
	}
	return fmt.Sprintf(": cancels %d waiting deliveries", c.Canceled)
}

// leaf formats a value of a diff; "-" for none.
func leaf(v json.RawMessage) string {
	if v == nil {
		return "-"
	}
	return string(v)
}
