package deploy

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// operatorPaths are the paths of the operator port, from the list that its own tests hold to the code.
func operatorPaths(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("../../operator/openapi.json")
	require.NoError(t, err)
	var api struct{ Paths map[string]any }
	require.NoError(t, json.Unmarshal(raw, &api))
	var paths []string
	for path := range api.Paths {
		paths = append(paths, path)
	}
	require.NotEmpty(t, paths)
	return paths
}

func TestNamesAndLabelsAreValidInTheCluster(t *testing.T) {
	t.Parallel()
	eachCase(t, func(t *testing.T, o *objects) {
		seen := map[string]bool{}
		for _, object := range o.all {
			accessor, err := meta.Accessor(object)
			require.NoError(t, err)
			require.Falsef(t, seen[name(t, object)], "%s stands twice", name(t, object))
			seen[name(t, object)] = true
			valid := validation.IsDNS1123Label
			if _, is := object.(*core.ConfigMap); is {
				valid = validation.IsDNS1123Subdomain
			}
			require.Empty(t, valid(accessor.GetName()), name(t, object))
			require.Equal(t, namespace, accessor.GetNamespace(), "who applies `helm template` gives no namespace again")
			requireLabels(t, accessor.GetLabels())
			require.Contains(t, accessor.GetLabels(), "app.kubernetes.io/managed-by")
		}
		for _, p := range o.pods(t) {
			requireLabels(t, p.template.Labels)
		}
	})
}

func requireLabels(t *testing.T, all map[string]string) {
	t.Helper()
	for key, value := range all {
		require.Empty(t, validation.IsQualifiedName(key), key)
		require.Empty(t, validation.IsValidLabelValue(value), "%s=%s", key, value)
	}
}

// selected are the roles whose pods a selector finds.
func selected(t *testing.T, o *objects, selector *metav1.LabelSelector) []string {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	require.NoError(t, err)
	require.False(t, s.Empty(), "it would find every pod of the namespace")
	var found []string
	for _, p := range o.pods(t) {
		if s.Matches(labels.Set(p.template.Labels)) {
			found = append(found, p.role)
		}
	}
	return found
}

func selector(match map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: match}
}

func TestSelectorsFindTheirPodsAndNoOthers(t *testing.T) {
	t.Parallel()
	eachCase(t, func(t *testing.T, o *objects) {
		for _, d := range o.deployments {
			require.Equal(t, []string{d.Labels[component]}, selected(t, o, d.Spec.Selector), d.Name)
		}
		for _, b := range o.budgets {
			require.Equal(t, []string{b.Labels[component]}, selected(t, o, b.Spec.Selector), b.Name)
		}
		for _, n := range o.policies {
			if n.Labels[component] != "migration" || len(o.jobs) > 0 {
				require.Equal(t, []string{n.Labels[component]}, selected(t, o, &n.Spec.PodSelector), n.Name)
			}
		}
		for _, p := range o.pods(t) {
			for _, spread := range p.template.Spec.TopologySpreadConstraints {
				require.Equal(t, []string{p.role}, selected(t, o, spread.LabelSelector))
			}
		}
		for _, s := range o.services {
			want := []string{s.Labels[component]}
			if s.Labels[component] == "metrics" {
				want = roles[:3]
			}
			require.Equal(t, want, selected(t, o, selector(s.Spec.Selector)), s.Name)
		}
		require.Equal(t, len(o.budgets) > 0, len(o.budgets) == 3)
		require.Equal(t, len(o.policies) > 0, len(o.policies) == 4)
	})
}

// hasPort says whether every pod that is meant has a port of this name or number.
func hasPort(t *testing.T, o *objects, roles []string, port intstr.IntOrString) bool {
	t.Helper()
	for _, p := range o.pods(t) {
		if slices.Contains(roles, p.role) && !slices.ContainsFunc(p.template.Spec.Containers[0].Ports, func(c core.ContainerPort) bool {
			return port.Type == intstr.String && c.Name == port.StrVal || c.ContainerPort == port.IntVal
		}) {
			return false
		}
	}
	return true
}

func TestServicesLeadToPortsThatExist(t *testing.T) {
	t.Parallel()
	eachCase(t, func(t *testing.T, o *objects) {
		require.Len(t, o.services, 3)
		for _, s := range o.services {
			require.Len(t, s.Spec.Ports, 1)
			require.Empty(t, validation.IsValidPortName(s.Spec.Ports[0].Name))
			require.True(t, hasPort(t, o, selected(t, o, selector(s.Spec.Selector)), s.Spec.Ports[0].TargetPort), s.Name)
		}
	})
}

func TestRoutesLeadToTheServiceOfTheIngress(t *testing.T) {
	t.Parallel()
	eachCase(t, func(t *testing.T, o *objects) {
		i := slices.IndexFunc(o.services, func(s *core.Service) bool { return s.Labels[component] == "ingress" })
		service := o.services[i]
		for _, in := range o.ingresses {
			for _, rule := range in.Spec.Rules {
				require.Equal(t, service.Name, rule.HTTP.Paths[0].Backend.Service.Name)
				require.Equal(t, service.Spec.Ports[0].Name, rule.HTTP.Paths[0].Backend.Service.Port.Name)
			}
		}
		for _, route := range o.routes {
			backend := route.Spec.Rules[0].BackendRefs[0]
			require.Equal(t, service.Name, string(backend.Name))
			require.Equal(t, service.Spec.Ports[0].Port, *backend.Port)
		}
	})
}

func TestTheMonitorFindsTheServiceOfMetrics(t *testing.T) {
	t.Parallel()
	paths := operatorPaths(t)
	eachCase(t, func(t *testing.T, o *objects) {
		for _, m := range o.monitors {
			s, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
			require.NoError(t, err)
			var found []*core.Service
			for _, service := range o.services {
				if s.Matches(labels.Set(service.Labels)) {
					found = append(found, service)
				}
			}
			require.Len(t, found, 1)
			require.Equal(t, found[0].Spec.Ports[0].Name, m.Spec.Endpoints[0].Port)
			require.Contains(t, paths, m.Spec.Endpoints[0].Path)
		}
	})
}

// An autoscaler finds its Deployment, and the chart sets no replicas, because the two would fight over them.
func TestAScaledDeploymentHasOneController(t *testing.T) {
	t.Parallel()
	eachCase(t, func(t *testing.T, o *objects) {
		scaled := map[string]bool{}
		for _, a := range o.autoscalers {
			require.Equal(t, "Deployment", a.Spec.ScaleTargetRef.Kind)
			scaled[a.Spec.ScaleTargetRef.Name] = true
		}
		for _, one := range o.custom {
			if one.GetKind() == "ScaledObject" {
				scaled[nested(t, one, "spec", "scaleTargetRef", "name").(string)] = true
			}
		}
		for _, d := range o.deployments {
			require.Equal(t, scaled[d.Name], d.Spec.Replicas == nil, d.Name)
			delete(scaled, d.Name)
		}
		require.Empty(t, scaled, "they find nothing")
	})
}

func TestServiceAccountsExist(t *testing.T) {
	t.Parallel()
	eachCase(t, func(t *testing.T, o *objects) {
		for _, p := range o.pods(t) {
			if account := p.template.Spec.ServiceAccountName; account != "default" {
				require.Len(t, o.serviceAccounts, 1)
				require.Equal(t, o.serviceAccounts[0].Name, account)
			}
		}
	})
}

// What Prometheus calls the job is the release, so that the rules tell two of them apart in one namespace, too.
func TestPrometheusTellsReleasesApart(t *testing.T) {
	t.Parallel()
	seen := 0
	eachCase(t, func(t *testing.T, o *objects) {
		for _, m := range o.monitors {
			s, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
			require.NoError(t, err)
			for _, service := range o.services {
				if s.Matches(labels.Set(service.Labels)) {
					require.Equal(t, release, service.Labels[m.Spec.JobLabel])
					require.Contains(t, m.Spec.JobLabel, "instance", "the name of the chart is "+release+", too")
					seen++
				}
			}
		}
	})
	require.Positive(t, seen)
}
