/** The arguments that a person may change: fields while the card is open, the values that were agreed on afterwards. */

import { useId } from "react";
import styles from "./approvals.module.css";
import { asText } from "./approval";
import { labelOf, optionLabel, type Draft, type Field } from "./fields";
import { StepList } from "./ListEditor";
import { stepsOf } from "./listEntries";

interface FieldListProps {
  readonly fields: readonly Field[];
  readonly drafts: Readonly<Record<string, Draft>>;
  readonly problems: Readonly<Record<string, string | undefined>>;
  readonly disabled: boolean;
  readonly onChange: (name: string, draft: Draft) => void;
}

export function FieldList({ fields, drafts, problems, disabled, onChange }: FieldListProps) {
  return fields.map((field) => {
    const { name } = field;
    const draft = drafts[name] ?? "";
    const problem = problems[name];
    const change = disabled ? undefined : (next: Draft) => { onChange(name, next); };
    if (typeof draft !== "string") {
      return (
        <div key={name} className={styles.listField}>
          {fields.length > 1 && <p aria-hidden="true">{labelOf(name)}</p>}
          <StepList label={labelOf(name)} rules={field.rules} steps={draft} onChange={change} problem={problem} />
        </div>
      );
    }
    return <Entry key={name} field={field} draft={draft} problem={problem} onChange={change} />;
  });
}

interface EntryProps {
  readonly field: Field;
  readonly draft: string;
  readonly problem: string | undefined;
  readonly onChange: ((draft: string) => void) | undefined;
}

function Entry({ field, draft, problem, onChange }: EntryProps) {
  const id = useId();
  const { name, kind, options, nullable, maxLength } = field;
  const common = {
    id,
    disabled: onChange === undefined,
    "aria-invalid": problem !== undefined,
    "aria-describedby": problem === undefined ? undefined : `${id}-problem`,
  };
  return (
    <div className={styles.field} data-testid="approval-field" data-name={name}>
      <label htmlFor={id}>{labelOf(name)}</label>
      {kind === "choice" || kind === "boolean" ? (
        <select {...common} value={draft} onChange={({ target }) => onChange?.(target.value)}>
          {(nullable || draft === "") && <option value="">—</option>}
          {options.map((option, place) => (
            <option key={place} value={place}>
              {optionLabel(option)}
            </option>
          ))}
        </select>
      ) : kind === "text" ? (
        <textarea
          {...common}
          dir="auto"
          rows={1}
          value={draft}
          maxLength={Number.isFinite(maxLength) ? maxLength : undefined}
          onChange={({ target }) => onChange?.(target.value)}
        />
      ) : (
        <input {...common} type="text" inputMode={kind === "integer" ? "numeric" : "decimal"} autoComplete="off" value={draft} onChange={({ target }) => onChange?.(target.value)} />
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} className={styles.problem} role="status" data-testid="field-problem">
          {problem}
        </p>
      )}
    </div>
  );
}

interface AgreedListProps {
  readonly fields: readonly Field[];
  /** Whose words they are by now. */
  readonly title: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** The arguments that are not the assistant's any more. */
  readonly changed: ReadonlySet<string>;
}

export function AgreedList({ fields, title, values, changed }: AgreedListProps) {
  const shown = fields.filter(({ name }) => values[name] !== undefined && values[name] !== null && values[name] !== "");
  const lists = shown.filter(({ kind }) => kind === "list");
  const others = shown.filter(({ kind }) => kind !== "list");
  if (shown.length === 0) return null;
  return (
    <div className={styles.agreed}>
      <p>{title}</p>
      {others.length > 0 && (
        <dl data-testid="approval-agreed">
          {others.map(({ name }) => {
            const value = values[name];
            return (
              <div key={name}>
                <dt>
                  <bdi>{labelOf(name)}</bdi>
                </dt>
                <dd>
                  <bdi>{typeof value === "boolean" ? optionLabel(value) : asText(value)}</bdi>
                  {changed.has(name) && <small> (changed)</small>}
                </dd>
              </div>
            );
          })}
        </dl>
      )}
      {lists.map(({ name, rules }) => (
        <div key={name} className={styles.listField}>
          {fields.length > 1 && <p aria-hidden="true">{labelOf(name)}</p>}
          <StepList label={labelOf(name)} rules={rules} steps={stepsOf(values[name])} />
        </div>
      ))}
    </div>
  );
}
