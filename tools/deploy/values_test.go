package deploy

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"holdfast/internal/config/reference"
	"holdfast/workflows"
)

var update = flag.Bool("update", false, "write what is generated")

func parseValues(t *testing.T, text string) map[string]any {
	t.Helper()
	var values map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &values))
	return values
}

// Go's limit is nine tenths of the container's, whatever its form: the rest is for what Go does not count. Who gives one has
// that.
func TestGoKeepsATenthOfTheMemoryFree(t *testing.T) {
	t.Parallel()
	eachPod(t, func(t *testing.T, _ *objects, p pod) {
		for _, c := range containers(p) {
			require.Equal(t, fmt.Sprint(c.Resources.Limits.Memory().Value()*9/10), variable(c, "GOMEMLIMIT"), c.Name)
		}
	})
	for values, limit := range map[string]string{
		"worker: {resources: {limits: {memory: 1.5Gi}}}":               "1449551462",
		"worker: {resources: {limits: {memory: 500M}}}":                "450000000",
		"worker: {resources: {limits: {memory: 1073741824}}}":          "966367641",
		"worker: {resources: {limits: {memory: null}}}":                "",
		"worker: {env: [{name: GOMEMLIMIT, value: 700MiB}]}":           "700MiB",
		"{env: [{name: GOMEMLIMIT, value: 'off'}], worker: {env: []}}": "off",
	} {
		for _, p := range makeObjects(t, loadChart(t), parseValues(t, values)).pods(t) {
			if p.role == "worker" {
				require.Equal(t, limit, variable(p.template.Spec.Containers[0], "GOMEMLIMIT"), values)
			}
		}
	}
}

// variable is the value of the one variable of this name, or "".
func variable(c core.Container, name string) (value string) {
	for _, v := range c.Env {
		if v.Name == name {
			value += v.Value
		}
	}
	return value
}

// An object has each label once, whoever gives it: its own goes before the one of all.
func TestLabelsStandOnce(t *testing.T) {
	t.Parallel()
	o := makeObjects(t, loadChart(t), parseValues(t, "{commonLabels: {release: a, team: b}, "+
		"serviceMonitor: {enabled: true, labels: {release: c}}, worker: {podLabels: {team: d}}}"))
	require.Len(t, o.monitors, 1)
	require.Equal(t, "c", o.monitors[0].Labels["release"])
	require.Equal(t, "b", o.monitors[0].Labels["team"])
}

// Who writes something that cannot be meant is told what, before anything reaches the cluster.
func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	for values, says := range map[string]string{
		"replicas: 3":                                                  "additional properties 'replicas' not allowed",
		"worker: {replica: 3}":                                         "at '/worker': additional properties 'replica' not allowed",
		"worker: {replicas: 0}":                                        "at '/worker/replicas': minimum: got 0, want 1",
		"worker: {replicas: many}":                                     "at '/worker/replicas': got string, want integer",
		"config: {HOLDFAST_LOG_LEVL: debug}":                           "at '/config': additional properties 'HOLDFAST_LOG_LEVL' not allowed",
		"config: {DATABASE_URL: 'postgres://u:p@h/d'}":                 "at '/config': additional properties 'DATABASE_URL' not allowed",
		"ingress: {config: {HOLDFAST_INGRESS_ADDR: x}}":                "additional properties 'HOLDFAST_INGRESS_ADDR' not allowed",
		"ingress: {secrets: {STRIPE_WEBHOOK_SECRET: whsec_abc}}":       "at '/ingress/secrets/STRIPE_WEBHOOK_SECRET': got string, want object",
		"ingress: {secrets: {stripe: {name: a}}}":                      "'stripe' does not match pattern",
		"database: {secret: {name: ''}}":                               "at '/database/secret/name': '' does not match pattern",
		"temporal: {address: 'https://temporal:7233'}":                 "at '/temporal/address'",
		"temporal: {address: temporal}":                                "at '/temporal/address'",
		"image: {digest: latest}":                                      "at '/image/digest'",
		"networkPolicy: {privateNetworks: [ten]}":                      "at '/networkPolicy/privateNetworks/0'",
		"worker: {keda: {queues: {event: 5}}}":                         "additional properties 'event' not allowed",
		"publicIngress: {enabled: true, hosts: []}":                    "at '/publicIngress/hosts': minItems: got 0, want 1",
		"providers: {definitions: {acme.yml: a}}":                      "'acme.yml' does not match pattern",
		"env: [{HOLDFAST_LOG_LEVEL: debug}]":                           "at '/env/0': missing property 'name'",
		"worker: {keda: {enabled: true}, versioning: {enabled: true}}": "worker.keda and worker.versioning exclude each other",
		"providers: {definitions: {a.yaml: a}, configMap: b}":          "exclude each other",
		"commonLabels: {app.kubernetes.io/name: a}":                    "at '/commonLabels/app.kubernetes.io~1name': false schema",
		"worker: {podLabels: {app.kubernetes.io/component: a}}":        "at '/worker/podLabels/app.kubernetes.io~1component': false schema",
		"worker: {resources: {limits: {memory: 512MB}}}":               "resources.limits.memory: 512MB has a form that",
		"config: {HOLDFAST_ARCHIVE: 'file:///archive'}":                "HOLDFAST_ARCHIVE: no pod has a folder that stays",
		"worker: {config: {HOLDFAST_ARCHIVE: 'file:///archive'}}":      "HOLDFAST_ARCHIVE: no pod has a folder that stays",
	} {
		_, err := render(loadChart(t), release, parseValues(t, values))
		require.ErrorContains(t, err, says, values)
	}
}

// managed are the variables that the chart sets itself, and the variables of roles that it does not run.
func managed(name string) bool {
	return slices.Contains([]string{
		"HOLDFAST_INGRESS_ADDR", "HOLDFAST_OPERATOR_ADDR", "HOLDFAST_PROVIDERS_DIR", "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE",
		"TEMPORAL_DEPLOYMENT_NAME", "TEMPORAL_WORKER_BUILD_ID",
	}, name) || strings.HasPrefix(name, "HOLDFAST_DEV_")
}

const schemaFile = chartDir + "/values.schema.json"

// The schema knows the variables of the program by name, so that `helm` finds a typing error, and no secret gets into a values
// file. After a change of internal/config: go test -C tools/deploy . -run TestTheSchemaKnows -update
func TestTheSchemaKnowsEveryVariable(t *testing.T) {
	t.Parallel()
	var lines []string
	sections, err := reference.Read("../../internal/config/sections.go")
	require.NoError(t, err)
	for _, section := range sections {
		for _, v := range section.Variables {
			if !v.Secret && !managed(v.Name) {
				lines = append(lines, `        "`+v.Name+`": {"type": ["string", "number", "boolean"]}`)
				if v.Former != "" {
					lines = append(lines, `        "`+v.Former+`": {"type": ["string", "number", "boolean"]}`)
				}
			}
		}
	}
	raw, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(raw), "    \"config\": {\n      \"type\": \"object\",\n      \"additionalProperties\": false,\n      \"properties\": {")
	require.True(t, found)
	head := strings.TrimSuffix(string(raw), rest)
	_, after, found := strings.Cut(rest, "}\n    }\n  }\n}\n")
	require.True(t, found)
	require.Empty(t, after)
	want := head + "\n" + strings.Join(lines, ",\n") + "\n      }\n    }\n  }\n}\n"
	if *update {
		require.NoError(t, os.WriteFile(schemaFile, []byte(want), 0o644))
	}
	require.NotEmpty(t, before)
	require.True(t, want == string(raw), "run: go test -C tools/deploy . -run TestTheSchemaKnows -update") //nolint:testifylint // not the whole schema
}

// Every value that has a default stands in the schema, and the other way round: what a schema allows and no template reads is a
// trap.
func TestTheSchemaAndTheDefaultsNameTheSame(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(raw, &schema))
	compare(t, schema, schema, loadChart(t).Values, "")
}

func compare(t *testing.T, root, schema, defaults map[string]any, path string) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		definitions := root["$defs"].(map[string]any)
		schema = definitions[filepath.Base(ref)].(map[string]any)
		if slices.Contains([]string{"config", "resources", "secret", "optionalSecret"}, filepath.Base(ref)) {
			return
		}
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok || schema["additionalProperties"] != false {
		return
	}
	for name, property := range properties {
		if path+name == "global" || strings.HasSuffix(path, "queues.") {
			continue
		}
		require.Contains(t, defaults, name, path+name)
		if inner, ok := defaults[name].(map[string]any); ok {
			compare(t, root, property.(map[string]any), inner, path+name+".")
		}
	}
}

func TestScalableQueuesMatchTheProgram(t *testing.T) {
	t.Parallel()
	for _, queue := range workflows.AllQueues() {
		values := map[string]any{"worker": map[string]any{"keda": map[string]any{"queues": map[string]any{queue: 5}}}}
		_, err := render(loadChart(t), release, values)
		require.NoError(t, err)
	}
}

// What `helm install` asks of a chart and a cluster before it renders anything.
func TestTheChartSaysWhichClustersItIsFor(t *testing.T) {
	t.Parallel()
	c := loadChart(t)
	require.NoError(t, c.Validate())
	for version, fits := range map[string]bool{
		"v1.30.9": false, "v1.31.0": true, "v1.31.4-eks-2d5f260": true, "v1.33.2-gke.1240000": true, "v1.37.0": true,
	} {
		require.Equal(t, fits, chartutil.IsCompatibleRange(c.Metadata.KubeVersion, version), version)
	}
}

// installed renders as `helm install` does, which takes a name without a value for nothing. The other tests are stricter.
func installed(c *chart.Chart, name string, values map[string]any) error {
	options := chartutil.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	_, err = engine.Engine{}.Render(c, all)
	return err
}

// Who writes `config:` and nothing below it, as when every line is a comment, means the default: nothing.
func TestANameWithoutAValueIsIgnored(t *testing.T) {
	t.Parallel()
	var tried int
	eachEmpty(loadChart(t).Values, nil, func(path []string) {
		var values any
		for _, name := range slices.Backward(path) {
			values = map[string]any{name: values}
		}
		require.NoError(t, installed(loadChart(t), release, values.(map[string]any)), path)
		tried++
	})
	require.Greater(t, tried, 20)
}

// eachEmpty gives the path of each value that is an empty list or an empty map.
func eachEmpty(values map[string]any, path []string, found func([]string)) {
	for name, value := range values {
		here := append(slices.Clone(path), name)
		switch v := value.(type) {
		case []any:
			if len(v) == 0 {
				found(here)
			}
		case map[string]any:
			if len(v) == 0 {
				found(here)
			}
			eachEmpty(v, here, found)
		}
	}
}

// A service begins with a letter and has no dot, other than a release.
func TestANameThatNoServiceCanHaveIsRefused(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"hooks": false, "2nd": true, "hooks.eu": true} {
		err := installed(loadChart(t), name, nil)
		require.Equal(t, refused, err != nil, name)
		if refused {
			require.ErrorContains(t, err, "set fullnameOverride")
		}
	}
	require.NoError(t, installed(loadChart(t), "2nd", map[string]any{"fullnameOverride": "second"}))
}
