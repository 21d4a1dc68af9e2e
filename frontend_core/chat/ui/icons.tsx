/** The icons of the page: one stroke style, drawn here, no icon package. All are decoration beside words or labels. */

import type { ReactNode } from "react";

function Icon({ children, size = 18 }: { readonly children: ReactNode; readonly size?: number | undefined }) {
  return (
    <svg
      aria-hidden="true"
      focusable="false"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      {children}
    </svg>
  );
}

interface IconProps {
  readonly size?: number;
}

export const PlusIcon = ({ size }: IconProps) => <Icon size={size}><path d="M12 5v14M5 12h14" /></Icon>;
export const MenuIcon = ({ size }: IconProps) => <Icon size={size}><path d="M4 7h16M4 12h16M4 17h16" /></Icon>;
export const CloseIcon = ({ size }: IconProps) => <Icon size={size}><path d="m6 6 12 12M18 6 6 18" /></Icon>;
export const SendIcon = ({ size }: IconProps) => <Icon size={size}><path d="M12 19V5M6 11l6-6 6 6" /></Icon>;
export const StopIcon = ({ size }: IconProps) => (
  <Icon size={size}><rect x="7" y="7" width="10" height="10" rx="2" fill="currentColor" stroke="none" /></Icon>
);
export const TrashIcon = ({ size }: IconProps) => (
  <Icon size={size}><path d="M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12" /></Icon>
);
export const CheckIcon = ({ size }: IconProps) => <Icon size={size}><path d="m5 12.5 4.5 4.5L19 7.5" /></Icon>;
export const AlertIcon = ({ size }: IconProps) => (
  <Icon size={size}><circle cx="12" cy="12" r="8.5" /><path d="M12 8v4.5M12 15.8v.1" /></Icon>
);
export const QuestionIcon = ({ size }: IconProps) => (
  <Icon size={size}><circle cx="12" cy="12" r="8.5" /><path d="M9.6 9.6a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.2.9-1.2 1.8M12 16.6v.1" /></Icon>
);
export const ChevronIcon = ({ size }: IconProps) => <Icon size={size}><path d="m9 6 6 6-6 6" /></Icon>;
export const ArrowDownIcon = ({ size }: IconProps) => <Icon size={size}><path d="M12 5v14M6 13l6 6 6-6" /></Icon>;
export const CopyIcon = ({ size }: IconProps) => (
  <Icon size={size}><rect x="9" y="9" width="10" height="10" rx="2" /><path d="M15 9V6a1.5 1.5 0 0 0-1.5-1.5H6A1.5 1.5 0 0 0 4.5 6v7.5A1.5 1.5 0 0 0 6 15h3" /></Icon>
);
export const RetryIcon = ({ size }: IconProps) => (
  <Icon size={size}><path d="M19 12a7 7 0 1 1-2.2-5.1M19 4v4h-4" /></Icon>
);
export const SunIcon = ({ size }: IconProps) => (
  <Icon size={size}>
    <circle cx="12" cy="12" r="3.8" />
    <path d="M12 3.5v1.5M12 19v1.5M3.5 12H5M19 12h1.5M6 6l1 1M17 17l1 1M18 6l-1 1M7 17l-1 1" />
  </Icon>
);
export const MoonIcon = ({ size }: IconProps) => <Icon size={size}><path d="M19 14.5A7.5 7.5 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5Z" /></Icon>;
export const SystemIcon = ({ size }: IconProps) => (
  <Icon size={size}><rect x="4" y="5" width="16" height="11" rx="2" /><path d="M9 20h6M12 16v4" /></Icon>
);
export const SearchIcon = ({ size }: IconProps) => <Icon size={size}><circle cx="11" cy="11" r="6" /><path d="m19 19-3.6-3.6" /></Icon>;
export const GraphIcon = ({ size }: IconProps) => (
  <Icon size={size}><circle cx="12" cy="5" r="2.2" /><circle cx="6" cy="18.5" r="2.2" /><circle cx="18" cy="18.5" r="2.2" /><path d="M12 7.2v4.3M12 11.5 6.8 16.4M12 11.5l5.2 4.9" /></Icon>
);
export const ExternalIcon = ({ size }: IconProps) => <Icon size={size}><path d="M13 5h6v6M19 5l-8 8M10 6H6v12h12v-4" /></Icon>;
export const OfflineIcon = ({ size }: IconProps) => (
  <Icon size={size}><path d="M4 4l16 16M8.5 9.8A6 6 0 0 0 6 11.2M3.5 8.5a10 10 0 0 1 3-2M12 6a10 10 0 0 1 8.5 2.5M15 10.2a6 6 0 0 1 3 1.6M9.5 15a3.5 3.5 0 0 1 5 0M12 18.5v.1" /></Icon>
);

export function Spinner({ size = 16 }: IconProps) {
  return (
    <svg aria-hidden="true" width={size} height={size} viewBox="0 0 24 24" fill="none" style={{ animation: "spin 0.9s linear infinite" }}>
      <circle cx="12" cy="12" r="9" stroke="currentColor" strokeWidth="2.5" opacity="0.2" />
      <path d="M21 12a9 9 0 0 0-9-9" stroke="currentColor" strokeWidth="2.5" strokeLinecap="round" />
    </svg>
  );
}

/** The mark of the product: lines of a log, and one event on its way. */
export function BrandMark({ size = 28 }: IconProps) {
  return (
    <svg aria-hidden="true" width={size} height={size} viewBox="0 0 32 32" fill="none">
      <rect width="32" height="32" rx="9" fill="var(--accent)" />
      <path d="M8 11.5h6.5M8 16h16M8 20.5h10.5" stroke="var(--on-accent)" strokeWidth="2.6" strokeLinecap="round" />
      <circle cx="20" cy="11.5" r="2.6" fill="var(--on-accent)" opacity="0.75" />
    </svg>
  );
}
