package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast/workflows"
)

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(raw, into), path)
}

// schemas are the schemas of custom resources, by kind, as their projects publish them.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	files, err := filepath.Glob("testdata/crds/*.yaml")
	require.NoError(t, err)
	all := map[string]*jsonschema.Schema{}
	for _, file := range files {
		var published struct {
			Group, Kind, Version string
			Schema               map[string]any
		}
		readYAML(t, file, &published)
		closeObjects(published.Schema)
		compiler := jsonschema.NewCompiler()
		require.NoError(t, compiler.AddResource(published.Kind, published.Schema))
		all[published.Group+"/"+published.Version+" "+published.Kind], err = compiler.Compile(published.Kind)
		require.NoError(t, err)
	}
	require.NotEmpty(t, all)
	return all
}

// closeObjects refuses the fields that the API server would drop.
func closeObjects(schema map[string]any) {
	if properties, ok := schema["properties"].(map[string]any); ok {
		_, open := schema["additionalProperties"]
		if !open && schema["x-kubernetes-preserve-unknown-fields"] != true {
			schema["additionalProperties"] = false
		}
		for _, property := range properties {
			closeObjects(property.(map[string]any))
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[key].(map[string]any); ok {
			closeObjects(inner)
		}
	}
}

func TestCustomResourcesFitTheirSchemas(t *testing.T) {
	t.Parallel()
	known := schemas(t)
	check := func(t *testing.T, o *objects) {
		for _, one := range o.custom {
			kind := one.GetAPIVersion() + " " + one.GetKind()
			require.Contains(t, known, kind)
			require.NoError(t, known[kind].Validate(withoutMetadata(one)))
		}
	}
	eachCase(t, check)
	for _, block := range pageBlocks(t) {
		if strings.HasPrefix(block, "apiVersion:") {
			check(t, decode(t, []document{{template: "docs/kubernetes.md", text: []byte(block)}}))
		}
	}
}

// withoutMetadata leaves out what no schema of a custom resource describes.
func withoutMetadata(one *unstructured.Unstructured) map[string]any {
	object := one.DeepCopy().Object
	object["metadata"] = map[string]any{}
	return object
}

func nested(t *testing.T, one *unstructured.Unstructured, path ...string) any {
	t.Helper()
	found, ok, err := unstructured.NestedFieldNoCopy(one.Object, path...)
	require.NoError(t, err)
	require.True(t, ok, path)
	return found
}

// A trigger of KEDA is a map of strings to its schema; what may be in it depends on the scaler.
func TestTriggersAreOnesThatTheScalersTake(t *testing.T) {
	t.Parallel()
	var scalers map[string]struct {
		Metadata       map[string]bool
		Authentication []string
	}
	readYAML(t, "testdata/keda-scalers.yaml", &scalers)
	var triggers int
	eachCase(t, func(t *testing.T, o *objects) {
		for _, one := range o.custom {
			switch one.GetKind() {
			case "ScaledObject":
				require.GreaterOrEqual(t, nested(t, one, "spec", "minReplicaCount"), 2.0)
				for _, raw := range nested(t, one, "spec", "triggers").([]any) {
					trigger := raw.(map[string]any)
					scaler, found := scalers[trigger["type"].(string)]
					require.True(t, found)
					metadata := trigger["metadata"].(map[string]any)
					for key := range metadata {
						require.Contains(t, scaler.Metadata, key)
					}
					if trigger["type"] == "prometheus" {
						require.Equal(t, "false", metadata["ignoreNullValues"], "no figure is no zero: the database may be away")
					}
					for key, must := range scaler.Metadata {
						require.True(t, !must || metadata[key] != nil, key)
					}
					if trigger["type"] == "temporal" {
						require.Contains(t, workflows.AllQueues(), metadata["taskQueue"])
						require.Regexp(t, `^\d+$`, metadata["targetQueueSize"])
					}
					triggers++
				}
			case "TriggerAuthentication":
				for _, raw := range nested(t, one, "spec", "secretTargetRef").([]any) {
					require.True(t, slices.Contains(scalers["temporal"].Authentication, raw.(map[string]any)["parameter"].(string)))
				}
			}
		}
	})
	require.Positive(t, triggers)
}

// The worker controller names the connection by itself: what the chart would say of it could only contradict.
func TestAVersionedWorkerUsesTheControllersConnection(t *testing.T) {
	t.Parallel()
	var seen bool
	for _, p := range of(t, "versioned").pods(t) {
		require.Equal(t, p.role == "worker", p.versioned)
		if !p.versioned {
			continue
		}
		seen = true
		for _, variable := range p.template.Spec.Containers[0].Env {
			require.NotContains(t, []string{"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_API_KEY", "TEMPORAL_DEPLOYMENT_NAME",
				"TEMPORAL_WORKER_BUILD_ID"}, variable.Name)
		}
	}
	require.True(t, seen)
}
