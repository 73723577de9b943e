package deploy

import (
	"net/netip"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	networking "k8s.io/api/networking/v1"
)

// The way in is for who is named; of the ports of an ingress only the public one is for everybody.
func TestOnlyTheWebhooksAreOpen(t *testing.T) {
	t.Parallel()
	eachCase(t, func(t *testing.T, o *objects) {
		for _, n := range o.policies {
			require.Equal(t, []networking.PolicyType{"Ingress", "Egress"}, n.Spec.PolicyTypes)
			for _, rule := range n.Spec.Ingress {
				require.Len(t, rule.Ports, 1)
				require.True(t, hasPort(t, o, []string{n.Labels[component]}, *rule.Ports[0].Port), n.Name)
				if len(rule.From) == 0 {
					require.Equal(t, "webhooks", rule.Ports[0].Port.StrVal)
				}
			}
			if n.Labels[component] == "migration" {
				require.Empty(t, n.Spec.Ingress)
			}
		}
	})
}

// The ways out are those that the program needs: names, its stores at the ports where they are, and the public internet.
func TestOnlyNeededEgressIsAllowed(t *testing.T) {
	t.Parallel()
	eachCase(t, func(t *testing.T, o *objects) {
		for _, p := range o.pods(t) {
			i := slices.IndexFunc(o.policies, func(n *networking.NetworkPolicy) bool { return n.Labels[component] == p.role })
			if i < 0 {
				continue
			}
			egress := o.policies[i].Spec.Egress
			temporal := load(t, p, p.template.Spec.Containers[0]).Temporal.Address
			if !p.versioned {
				address := netip.MustParseAddrPort("127.0.0.1" + temporal[len(temporal)-5:])
				require.True(t, opens(egress, int(address.Port())), "Temporal, %s", temporal)
			}
			require.True(t, opens(egress, 53), "names")
			for _, address := range []string{"10.0.0.1", "192.168.1.1", "169.254.169.254", "fd00::1", "fe80::1"} {
				require.False(t, reaches(egress, netip.MustParseAddr(address)), address)
			}
			for _, address := range []string{"93.184.216.34", "2606:2800:220:1::1"} {
				require.Equal(t, p.role != "migration", reaches(egress, netip.MustParseAddr(address)), address)
			}
		}
	})
}

// A migration may go past the pooler of the roles, to PostgreSQL's own port.
func TestTheMigrationReachesItsOwnDatabase(t *testing.T) {
	t.Parallel()
	for _, n := range of(t, "everything").policies {
		migrates := n.Labels[component] == "migration"
		require.Equal(t, migrates, opens(n.Spec.Egress, 5432), n.Name)
		require.Equal(t, !migrates, opens(n.Spec.Egress, 6432), n.Name)
	}
}

func opens(rules []networking.NetworkPolicyEgressRule, port int) bool {
	return slices.ContainsFunc(rules, func(r networking.NetworkPolicyEgressRule) bool {
		return slices.ContainsFunc(r.Ports, func(p networking.NetworkPolicyPort) bool { return p.Port.String() == strconv.Itoa(port) })
	})
}

// reaches says whether a rule lets an address be reached at any port.
func reaches(rules []networking.NetworkPolicyEgressRule, address netip.Addr) bool {
	within := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(address) }
	for _, r := range rules {
		for _, to := range r.To {
			if len(r.Ports) == 0 && to.IPBlock != nil && within(to.IPBlock.CIDR) && !slices.ContainsFunc(to.IPBlock.Except, within) {
				return true
			}
		}
	}
	return false
}
