package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// must returns a value that there has to be.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestHelmLintsTheChartWithEveryCase(t *testing.T) {
	for _, one := range must(cases())(t) {
		linted := lint.All(chartFolder, one.Values, "default", true)
		for _, message := range linted.Messages {
			// An icon is for catalogues.
			if message.Severity > support.InfoSev || !strings.Contains(message.Err.Error(), "icon is recommended") {
				t.Errorf("%s: %v", one.Name, message)
			}
		}
	}
}

func TestEveryCaseIsOfTheTypesOfKubernetesAndKeepsTheRules(t *testing.T) {
	image, help := must(readImage())(t), must(readHelp())(t)
	seen := &Objects{}
	for _, one := range must(cases())(t) {
		text, notes, err := render(one.Values)
		if err != nil {
			t.Fatalf("%s: %v", one.Name, err)
		}
		objects, err := decode(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", one.Name, err, text)
		}
		if err := rules(objects, image, help); err != nil {
			t.Errorf("%s: %v", one.Name, err)
		}
		if !strings.Contains(notes, "site-salver") {
			t.Errorf("%s: the notes: %q", one.Name, notes)
		}
		seen.Autoscalers = append(seen.Autoscalers, objects.Autoscalers...)
		seen.Routes = append(seen.Routes, objects.Routes...)
		seen.Ingresses = append(seen.Ingresses, objects.Ingresses...)
		seen.Monitors = append(seen.Monitors, objects.Monitors...)
		seen.Count += objects.Count
		t.Logf("%s: %d objects", one.Name, objects.Count)
	}
	if len(seen.Autoscalers) < 2 || len(seen.Routes) < 1 || len(seen.Ingresses) < 1 || len(seen.Monitors) < 1 || seen.Count < 30 {
		t.Errorf("the cases have too little: %+v", seen)
	}
}

func TestManifestsAreWhatTheChartRenders(t *testing.T) {
	rewrite := os.Getenv("SALVER_REWRITE") == "1"
	wanted := map[string]bool{}
	for _, one := range must(cases())(t) {
		text := must(manifest(one))(t)
		path := filepath.Join(manifestsFolder, one.Name+".yaml")
		wanted[path] = true
		if rewrite {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		there, err := os.ReadFile(path)
		if err != nil || string(there) != text {
			t.Errorf("%s is not what the chart renders (%v): SALVER_REWRITE=1 make kubernetes-judges", path, err)
		}
	}
	for _, path := range must(filepath.Glob(filepath.Join(manifestsFolder, "*")))(t) {
		if !wanted[path] {
			t.Errorf("%s is of no case", path)
		}
	}
}

func TestEveryValueHasACommentAndAPlaceInTheSchema(t *testing.T) {
	text := string(must(os.ReadFile(filepath.Join(chartFolder, "values.yaml")))(t))
	key := regexp.MustCompile(`^( *)([a-zA-Z]+):( |$)`)
	before := ""
	parents := 0
	for number, line := range strings.Split(text, "\n") {
		found := key.FindStringSubmatch(line)
		isComment := strings.HasPrefix(strings.TrimSpace(before), "#")
		before = line
		if found == nil {
			continue
		}
		// A key whose own keys have comments needs none; the keys of Kubernetes' own types are its business.
		if found[3] == "" && strings.HasPrefix(strings.TrimSpace(strings.Split(text, "\n")[number+1]), "#") {
			parents++
			continue
		}
		if !isComment && !insideOfKubernetes(text, number) {
			t.Errorf("values.yaml:%d: %s has no comment", number+1, found[2])
		}
	}
	if parents < 10 {
		t.Errorf("%d groups of values", parents)
	}
	// Every key of the values is a property: an unknown one is refused at every level.
	for _, unknown := range []string{"replicas: 3", "image: {name: x}", "content: {configMap: {file: {}}}", "drain: {seconds: 3}", "metrics: {serviceMonitor: {on: true}}"} {
		values := must(chartutil.ReadValues([]byte(unknown)))(t)
		if _, _, err := render(values); err == nil || !strings.Contains(err.Error(), "additional properties") {
			t.Errorf("%s: %v", unknown, err)
		}
	}
}

// insideOfKubernetes returns true for a line within a block that Kubernetes gives its form, which has one comment above it.
func insideOfKubernetes(text string, number int) bool {
	lines := strings.Split(text, "\n")
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	for at, least := number-1, indent(lines[number]); at >= 0; at-- {
		if line := lines[at]; strings.TrimSpace(line) != "" && indent(line) < least {
			least = indent(line)
			name := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), ":"))
			if name == "resources" || name == "startupProbe" || name == "strategy" || strings.HasPrefix(strings.TrimSpace(line), "- ") {
				return true
			}
		}
	}
	return false
}

func TestSharesAreThoseOfTheMemoryLimit(t *testing.T) {
	for _, limit := range []string{
		`512Mi`, `1Gi`, `1.5Gi`, `0.5Gi`, `300M`, `2G`, `1e9`, `1E9`, `"1e9"`, `536870912`, `"536870912"`, `128974848000m`,
		`65536Ki`, `1T`, `1Ti`, `7Pi`, `33554431`, `100000k`,
	} {
		for _, share := range []int64{1, 33, 50, 90} {
			values := must(chartutil.ReadValues(fmt.Appendf(nil, "{resources: {limits: {memory: %s}}, cache: {share: %d}, connections: {share: 5}}", limit, share)))(t)
			quantity := must(resource.ParseQuantity(strings.Trim(limit, `"`)))(t)
			wanted := quantity.Value() * share / 100 >> 20
			text, _, err := render(values)
			if wanted < 1 {
				if err == nil || !strings.Contains(err.Error(), "less than 1 MiB") {
					t.Errorf("%d%% of %s: %v", share, limit, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%d%% of %s: %v", share, limit, err)
			}
			container := must(decode(text))(t).Deployments[0].Spec.Template.Spec.Containers[0]
			if found := value(&container, "SALVER_CACHE_SIZE"); found != fmt.Sprintf("%dMiB", wanted) {
				t.Errorf("%d%% of %s: %s, not %dMiB", share, limit, found, wanted)
			}
		}
	}
}

func TestValuesThatCannotBeMeantAreRefusedWithWhatToDo(t *testing.T) {
	for values, said := range map[string]string{
		"content: {form: git}":                                              "content/form",
		"content: {form: configMap}":                                        "give files, or the name of a ConfigMap",
		"content: {form: imageVolume}":                                      "content.imageVolume.reference",
		"content: {form: initContainer}":                                    "content.initContainer.image",
		"content: {form: sidecar}":                                          "content.sidecar.image",
		"content: {form: persistentVolumeClaim}":                            "claimName",
		"metrics: {enabled: true}":                                          "metrics.tokenSecret.name",
		"metrics: {serviceMonitor: {enabled: true}}":                        "metrics.enabled has to be true",
		"autoscaling: {enabled: true, metric: {name: salver_connections}}":  "metrics.enabled has to be true",
		"autoscaling: {enabled: true, cpuUtilization: 0}":                   "give cpuUtilization, metric.name, or both",
		"ingress: {enabled: true}":                                          "name the hosts",
		"httpRoute: {enabled: true}":                                        "name the Gateway",
		"settings: {port: 80}":                                              "another value of the chart sets it",
		"settings: {CacheSize: 1}":                                          "invalid propertyName",
		"resources: {limits: {memory: a lot}}":                              "is no quantity",
		"port: 80":                                                          "port",
		"cache: {size: much}":                                               "cache/size",
		"content: {form: configMap, configMap: {files: {../x: a}}}":         "is no path",
		"content: {form: configMap, configMap: {files: {/x: a}}}":           "invalid propertyName",
		"content: {form: configMap, configMap: {files: {a/b: a, a__b: c}}}": "have one key",
	} {
		_, _, err := render(must(chartutil.ReadValues([]byte(values)))(t))
		if err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%s: %v, not %q", values, err, said)
		}
	}
}

func TestWithoutAMemoryLimitSalverHasItsOwnDefaults(t *testing.T) {
	text, notes, err := render(must(chartutil.ReadValues([]byte("resources: {limits: null}")))(t))
	if err != nil {
		t.Fatal(err)
	}
	container := must(decode(text))(t).Deployments[0].Spec.Template.Spec.Containers[0]
	if value(&container, "SALVER_CACHE_SIZE") != "" || !strings.Contains(notes, "no memory limit") {
		t.Errorf("%s\n%s", text, notes)
	}
}

// Controls: what is wrong has to be found.

func TestAManifestThatIsWrongIsRefused(t *testing.T) {
	image, help := must(readImage())(t), must(readHelp())(t)
	text, _, err := render(must(chartutil.ReadValuesFile(filepath.Join(casesFolder, "gateway.yaml")))(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, control := range []struct{ from, to, said string }{
		{"maxUnavailable: 1\n", "maxUnavailabel: 1\n", `unknown field "spec.maxUnavailabel"`},
		{"minReplicas:", "minreplicas:", `unknown field "spec.minreplicas"`},
		{"backendRefs:", "backends:", "unknown field"},
		{"authorization:", "authorisation:", "unknown field"},
		{"kind: PodDisruptionBudget", "kind: PodDisruption", "unknown kind"},
		{"policy/v1", "policy/v1beta1", "unknown kind"},
		{"minReplicas: 2", "minReplicas: two", "cannot unmarshal"},
		{"automountServiceAccountToken: false", "automountServiceAccountToken: false\n      enableServiceLinks: false", "already set"},
		{"terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 25", "grace period of 25s"},
		{"value: 20s", "value: 40s", "grace period of 30s"},
		{"runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"},
		{"runAsUser: 65532", "runAsUser: 1000", "runAsUser"},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "the root is not read-only"},
		{"drop: [ALL]", "drop: [CHOWN]", "capabilities"},
		{"RuntimeDefault", "Unconfined", "seccomp"},
		{"livenessProbe:", "startupProbe2:", "unknown field"},
		{"path: /ready", "path: /", "readiness probe asks for /"},
		{"port: admin", "port: metrics", "at no port"},
		{"SALVER_WORKERS", "SALVER_WORKER", "no flag has the variable SALVER_WORKER"},
		{"SALVER_WORKERS", "SALVER_DRAIN", "twice"},
		{`divisor: "1"`, "divisor: 1m", "SALVER_WORKERS"},
		{"imagePullPolicy: IfNotPresent", "imagePullPolicy: IfNotPresent\n          args: [--spaa]", "no flag --spaa"},
		{"value: \"768MiB\"", "value: \"1300MiB\"", "the cache and connections take"},
		{"targetPort: http", "targetPort: web", "which there is not"},
		{"- name: site-salver\n          port: 80", "- name: other\n          port: 80", "leads nowhere"},
	} {
		if !strings.Contains(text, control.from) {
			t.Errorf("the control %q is of nothing", control.from)
			continue
		}
		objects, err := decode(strings.Replace(text, control.from, control.to, 1))
		if err == nil {
			err = rules(objects, image, help)
		}
		if err == nil || !strings.Contains(err.Error(), control.said) {
			t.Errorf("%s -> %s: %v, not %q", control.from, control.to, err, control.said)
		}
	}
}

func TestHelmRefusesAChartThatIsWrong(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(chartFolder)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "Chart.yaml")
	var chart map[string]any
	if err := yaml.Unmarshal(must(os.ReadFile(path))(t), &chart); err != nil {
		t.Fatal(err)
	}
	chart["version"] = "one"
	if err := os.WriteFile(path, must(yaml.Marshal(chart))(t), 0o644); err != nil {
		t.Fatal(err)
	}
	if linted := lint.All(folder, nil, "default", true); linted.HighestSeverity < support.ErrorSev {
		t.Errorf("%v", linted.Messages)
	}
}
