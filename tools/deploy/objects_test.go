package deploy

import (
	"fmt"
	"slices"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// objects are what a chart makes, decoded: every field is one that its kind has, and stands once.
type objects struct {
	all             []runtime.Object
	deployments     []*apps.Deployment
	jobs            []*batch.Job
	services        []*core.Service
	configMaps      []*core.ConfigMap
	serviceAccounts []*core.ServiceAccount
	budgets         []*policy.PodDisruptionBudget
	policies        []*networking.NetworkPolicy
	ingresses       []*networking.Ingress
	autoscalers     []*autoscaling.HorizontalPodAutoscaler
	routes          []*gateway.HTTPRoute
	monitors        []*monitoring.ServiceMonitor
	rules           []*monitoring.PrometheusRule
	// custom are those whose types are in no module of Go; schemas_test.go checks them.
	custom []*unstructured.Unstructured
}

func decode(t *testing.T, documents []document) *objects {
	t.Helper()
	known := runtime.NewScheme()
	require.NoError(t, scheme.AddToScheme(known))
	require.NoError(t, monitoring.AddToScheme(known))
	require.NoError(t, gateway.Install(known))
	decoder := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	var o objects
	for _, d := range documents {
		object, _, err := decoder.Decode(d.text, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			one := &unstructured.Unstructured{}
			err = yaml.UnmarshalStrict(d.text, &one.Object)
			object = one
		}
		require.NoErrorf(t, err, "%s:\n%s", d.template, d.text)
		o.add(t, object)
	}
	return &o
}

func (o *objects) add(t *testing.T, object runtime.Object) {
	t.Helper()
	o.all = append(o.all, object)
	switch one := object.(type) {
	case *apps.Deployment:
		o.deployments = append(o.deployments, one)
	case *batch.Job:
		o.jobs = append(o.jobs, one)
	case *core.Service:
		o.services = append(o.services, one)
	case *core.ConfigMap:
		o.configMaps = append(o.configMaps, one)
	case *core.ServiceAccount:
		o.serviceAccounts = append(o.serviceAccounts, one)
	case *policy.PodDisruptionBudget:
		o.budgets = append(o.budgets, one)
	case *networking.NetworkPolicy:
		o.policies = append(o.policies, one)
	case *networking.Ingress:
		o.ingresses = append(o.ingresses, one)
	case *autoscaling.HorizontalPodAutoscaler:
		o.autoscalers = append(o.autoscalers, one)
	case *gateway.HTTPRoute:
		o.routes = append(o.routes, one)
	case *monitoring.ServiceMonitor:
		o.monitors = append(o.monitors, one)
	case *monitoring.PrometheusRule:
		o.rules = append(o.rules, one)
	case *unstructured.Unstructured:
		o.custom = append(o.custom, one)
	default:
		require.Failf(t, "no test looks at this kind", "%T", object)
	}
}

// pod is a template of pods: of a role or of the migration.
type pod struct {
	role     string
	template core.PodTemplateSpec
	// versioned is set where the worker controller runs it.
	versioned bool
}

func (o *objects) pods(t *testing.T) []pod {
	t.Helper()
	var all []pod
	for _, d := range o.deployments {
		all = append(all, pod{role: d.Labels[component], template: d.Spec.Template})
	}
	for _, j := range o.jobs {
		all = append(all, pod{role: j.Labels[component], template: j.Spec.Template})
	}
	for _, one := range o.custom {
		if one.GetKind() == "WorkerDeployment" {
			all = append(all, pod{role: "worker", template: templateOf(t, one), versioned: true})
		}
	}
	slices.SortFunc(all, func(a, b pod) int { return slices.Index(roles, a.role) - slices.Index(roles, b.role) })
	return all
}

func templateOf(t *testing.T, one *unstructured.Unstructured) core.PodTemplateSpec {
	t.Helper()
	raw, found, err := unstructured.NestedMap(one.Object, "spec", "template")
	require.NoError(t, err)
	require.True(t, found)
	text, err := yaml.Marshal(raw)
	require.NoError(t, err)
	var template core.PodTemplateSpec
	require.NoError(t, yaml.UnmarshalStrict(text, &template))
	return template
}

const component = "app.kubernetes.io/component"

// roles are the components that have pods.
var roles = []string{"ingress", "worker", "operator", "migration"}

// name is "Kind/name".
func name(t *testing.T, object runtime.Object) string {
	t.Helper()
	accessor, err := meta.Accessor(object)
	require.NoError(t, err)
	return fmt.Sprintf("%s/%s", object.GetObjectKind().GroupVersionKind().Kind, accessor.GetName())
}
