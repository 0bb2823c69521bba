/** What helm says after an installation. */
import { expect, it } from 'vitest';
import { describeHelm } from './describe-helm.ts';
import { CHART, type Release, runHelm } from './helm.ts';
import { MATRIX } from './matrix.ts';

function notesOf({ name, namespace, values = {} }: Release): string {
  const args = ['install', name, CHART, '--namespace', namespace, '--dry-run=client', '--values', '-'];
  const { status, stdout, stderr } = runHelm(args, values);
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return stdout.slice(stdout.indexOf('NOTES:\n'));
}

describeHelm('the notes', () => {
  it('name the release, its namespace and what comes next', () => {
    const notes = notesOf(MATRIX.defaults);
    expect(notes).toContain('is installed as demo in gw; it serves the objects of every namespace.');
    expect(notes).toContain('\n  kubectl --namespace gw rollout status deployment/demo-gateway\n');
    expect(notes).toContain('\n  helm test demo --namespace gw\n');
    expect(notes).toContain('port-forward service/demo-gateway 8787:80 &\n');
  });

  it('name the namespaces that are served', () => {
    expect(notesOf(MATRIX['named namespaces'])).toContain('it serves the objects of team-a, team-b, gw.');
  });

  it('ask for tests of the release, and for Deployments by their own name', () => {
    const notes = notesOf(MATRIX['a name of its own']);
    expect(notes).toContain('helm test demo --namespace gw\n');
    expect(notes).toContain('deployment/edge-gateway\n');
  });

  it('say where limits are counted', () => {
    expect(notesOf(MATRIX.defaults)).toContain('\nLimits are divided among the gateways;');
    expect(notesOf(MATRIX.everything)).toContain('\nLimits are counted in the store for all gateways.\n');
  });

  it('do not speak of CRDs that are in nobody’s way', () => {
    expect(notesOf(MATRIX.defaults)).not.toContain('These CRDs');
    expect(notesOf(MATRIX.minimal)).not.toContain('These CRDs');
  });

  it('are commands that a shell takes', () => {
    const commands = notesOf(MATRIX.everything).matchAll(/^ {2}((?:kubectl|helm|curl|KEY=).*(?:\\\n.*)*)$/gm);
    const quotes = [...commands].map(([, command = '']) => command.replaceAll(/"[^"]*"|'[^']*'/g, ''));
    expect(quotes.length).toBeGreaterThanOrEqual(6);
    for (const command of quotes) expect(command).not.toMatch(/['"]/);
  });
});
